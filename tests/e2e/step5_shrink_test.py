"""Step 5: a full cache of 256Mi shrinks to 96Mi under load: cache first, then pod, and nobody is killed."""
import time

from support import audit, resize_evidence
from support.environment import MIB, SHOP
from support.recorder import Recorder
from support.step import Step
from step1_install_test import OVERHEAD_FIXED_MIB, OVERHEAD_PERCENT

# More than 256Mi holds. After the shrink about 90 MB remain: the last 90,000 items, were it for their age alone.
BULK, BULK_BYTES, PART = 300_000, 1000, 50_000
HOT = (150_000, 160_000)   # old enough to be evicted by a shrink, but used again
COLD = (165_000, 175_000)  # as old, and not


class Shrink(Step):
    def fill_up(self):
        for first in range(0, BULK, PART):
            written = self.env.app.fill("bulk", first, first + PART, BULK_BYTES)
            self.assertEqual((written["stored"], written["errors"]), (PART, 0), written.get("lastError"))
        self.assertGreater(int(self.env.app.stats()["evictions"]), 0, "the cache was meant to be full")

    def hits(self, numbers):
        found = self.env.app.verify("bulk", *numbers, BULK_BYTES)
        self.assertEqual((found["wrong"], found["errors"]), (0, 0), found.get("lastError"))
        return found["hits"]

    def test_shrink(self):
        self.fill_up()
        self.assertEqual(self.hits(HOT), HOT[1] - HOT[0])
        shrinks = self.env.web.metrics().get("podcache_memory_resizes_total", direction="shrink", result="done")
        with Recorder(self.env.web) as recorder:
            patched = time.time()
            self.env.patch_sidecar({"memory": {"size": "96Mi"}})
            self.env.wait_until_sized(96 * MIB, 2)
            self.env.record("step5_shrink_seconds", time.time() - patched)

        # 96Mi * 1.10 + 64Mi = 169.6Mi
        self.assertEqual(self.env.web.cgroup_limit(), 170 * MIB)
        self.assertLess(self.env.web.resident(), 170 * MIB)
        self.assertLess(self.env.web.cgroup_usage(), 170 * MIB)
        self.env.record("step5_resident_mib", self.env.web.resident() / MIB)
        self.assertEqual(self.hits(HOT), HOT[1] - HOT[0], "recently used items still hit")
        self.assertLess(self.hits(COLD), (COLD[1] - COLD[0]) / 2, "what was not used again made room")
        self.assert_no_harm()

        # The cache's own record of it, and what the API server saw.
        seen = self.env.web.metrics()
        self.assertEqual(seen.get("podcache_memory_resizes_total", direction="shrink", result="done"), shrinks + 1)
        self.assertEqual(recorder.failures, [])
        resizes = audit.resizes(self.cluster, SHOP, self.env.web.pod, patched)
        self.assertEqual([(code, audit.memory_limit_of(patch)) for _, _, code, patch in resizes], [(200, "170Mi")])
        self.assertEqual(
            resize_evidence.shrink_problems(recorder.samples, resizes[0][0], 96 * MIB, 170 * MIB), [])
        self.assertEqual(recorder.violations(OVERHEAD_PERCENT, OVERHEAD_FIXED_MIB * MIB), [])
        self.env.record("step5_samples", len(recorder.samples))
