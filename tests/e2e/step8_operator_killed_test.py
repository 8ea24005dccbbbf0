"""Step 8: the operator is killed in the middle of a resize; its successor finishes it."""
import os
import re
import signal
import time

from support import audit, install
from support.environment import MIB, SHOP
from support.step import Step

ATTEMPTS = 5


class OperatorKilled(Step):
    def operator_pids(self):
        """Processes of all operator pods, found by their containers."""
        pods = install.items(self.cluster, "pods", "-n", install.NAMESPACE, "-l", "app.kubernetes.io/name=podcache-operator")
        ids = {each["containerID"].rpartition("/")[2] for pod in pods for each in pod["status"]["containerStatuses"]}
        tasks = self.cluster.run(self.cluster.state / "bin" / "ctr", "tasks", "ls").stdout
        return [int(pid) for name, pid in re.findall(r"^(\w+)\s+(\d+)", tasks, re.M) if name in ids]

    def kill_when(self, condition, seconds=20):
        """SIGKILL to every operator process as soon as the condition holds; polls without a pause."""
        pids = self.operator_pids()
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, "the resize did not begin")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return time.time()

    def test_successor_finishes_a_shrink(self):
        """The middle: the cache's target is already low, the pod's limit not yet. A few tries, since it is short."""
        for attempt in range(ATTEMPTS):
            self.env.patch_sidecar({"memory": {"size": "256Mi"}})
            self.env.wait_until_sized(256 * MIB, 2, seconds=120)
            self.env.app.fill("bulk", 0, 200_000, 1000)
            since = time.time()
            self.env.patch_sidecar({"memory": {"size": "96Mi"}})
            killed = self.kill_when(lambda: int(self.env.web.metrics().get("podcache_memory_budget_target_bytes"))
                                    == 96 * MIB)
            patches = audit.resizes(self.cluster, SHOP, self.env.web.pod, since)
            in_the_middle = not patches and self.env.web.cgroup_limit() == 346 * MIB
            self.env.wait_until_sized(96 * MIB, 2, seconds=120)
            if in_the_middle:
                break
        self.assertTrue(in_the_middle, f"{ATTEMPTS} kills came too late")
        self.env.record("step8_finished_after_kill_seconds", time.time() - killed)
        self.env.record("step8_attempts", attempt + 1)
        self.assertEqual(self.env.web.cgroup_limit(), 170 * MIB)
        finished = audit.resizes(self.cluster, SHOP, self.env.web.pod, killed)
        self.assertEqual([audit.memory_limit_of(patch) for _, _, _, patch in finished], ["170Mi"])
        self.assert_no_harm()
