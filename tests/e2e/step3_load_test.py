"""Step 3: a real client library writes 100,000 items; a mixed load runs through all that follows."""
from support.environment import MIB
from support.step import Step
from support.waiting import wait_for

ITEMS = 100_000


class Load(Step):
    def test_1_items_are_written_and_all_hit(self):
        fill = self.env.app.status()["fill"]
        self.assertEqual((fill["stored"], fill["errors"]), (ITEMS, 0))
        self.env.record("fill_100k_seconds", fill["seconds"])
        found = self.env.app.verify("pinned", 0, ITEMS)
        self.assertEqual((found["hits"], found["misses"], found["wrong"], found["errors"]), (ITEMS, 0, 0, 0))

    def test_2_mixed_load_runs(self):
        wait_for("mixed load", lambda: all(self.env.app.status()["load"][each] > 10 for each in
                                           ("gets", "sets", "touches", "deletes", "hits")), 20)
        self.assert_no_harm()

    def test_3_cache_says_what_was_configured(self):
        stats = self.env.app.stats()
        self.assertEqual(int(stats["limit_maxbytes"]), 64 * MIB)
        self.assertEqual(int(stats["threads"]), 1)
        self.assertEqual(self.env.web.workers(), 1)
        self.assertGreaterEqual(int(stats["curr_items"]), ITEMS)
