"""Step 4: memory 64Mi → 256Mi and threads 1 → 2 under load: everything follows, nothing is lost."""
import time

from support import audit, resize_evidence
from support.environment import MIB, SHOP
from support.recorder import Recorder
from support.step import Step
from step1_install_test import OVERHEAD_FIXED_MIB, OVERHEAD_PERCENT
from step3_load_test import ITEMS


class Grow(Step):
    def test_grow(self):
        before = self.env.app.verify("pinned", 0, ITEMS)
        self.assertEqual(before["hits"], ITEMS)
        with Recorder(self.env.web) as recorder:
            patched = time.time()
            self.env.patch_sidecar({"memory": {"size": "256Mi"}, "threads": {"mode": "Fixed", "count": 2}})
            self.env.wait_until_sized(256 * MIB, 2)
            self.env.record("step4_grow_seconds", time.time() - patched)

        # 256Mi * 1.10 + 64Mi = 345.6Mi
        self.assertEqual(self.env.web.cgroup_limit(), 346 * MIB)
        self.assertEqual(self.env.web.workers(), 2)
        self.assertEqual(self.env.web.container_status()["resources"]["limits"]["memory"], "346Mi")
        found = self.env.app.verify("pinned", 0, ITEMS)
        self.assertEqual((found["hits"], found["misses"], found["wrong"], found["errors"]), (ITEMS, 0, 0, 0))
        self.assert_no_harm()

        # Pod first, then cache, and the invariant at every instant that was looked at.
        self.assertEqual(recorder.failures, [])
        resizes = audit.resizes(self.cluster, SHOP, self.env.web.pod, patched)
        self.assertEqual([(code, audit.memory_limit_of(patch)) for _, _, code, patch in resizes], [(200, "346Mi")])
        self.assertEqual(resize_evidence.grow_problems(recorder.samples, resizes[0][0], 64 * MIB), [])
        self.assertEqual(recorder.violations(OVERHEAD_PERCENT, OVERHEAD_FIXED_MIB * MIB), [])
        self.env.record("step4_samples", len(recorder.samples))
