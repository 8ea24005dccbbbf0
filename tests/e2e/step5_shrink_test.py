"""Step 5: a full cache of 256Mi shrinks to 96Mi under load: cache first, then pod, and nobody is killed."""
import time

from support import audit, resize_evidence
from support.environment import MIB, SHOP
from support.recorder import Recorder
from support.step import Step
from step1_install_test import OVERHEAD_FIXED_MIB, OVERHEAD_PERCENT

HOT = 20_000   # of the pinned items; about 7 MB
BULK = 900_000  # items of 250 bytes: more than 256Mi holds
PART = 100_000


class Shrink(Step):
    def fill_up(self):
        """Makes the cache evict, while the hot items stay in use."""
        for first in range(0, BULK, PART):
            written = self.env.app.fill("bulk", first, first + PART)
            self.assertEqual((written["stored"], written["errors"]), (PART, 0), written.get("lastError"))
            self.env.app.verify("pinned", 0, HOT)

    def test_shrink(self):
        self.fill_up()
        self.assertGreater(int(self.env.app.stats()["evictions"]), 0, "the cache was meant to be full")
        shrinks = self.env.web.metrics().get("podcache_memory_resizes_total", direction="shrink", result="done")
        self.assertEqual(self.env.app.verify("pinned", 0, HOT)["hits"], HOT)
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
        found = self.env.app.verify("pinned", 0, HOT)
        self.assertEqual((found["hits"], found["wrong"], found["errors"]), (HOT, 0, 0))
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
