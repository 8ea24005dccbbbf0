"""Step 8: the operator is killed in the middle of a resize; its successor finishes it."""
import os
import re
import signal
import time

from support import audit, install
from support.environment import MIB, SHOP
from support.resize_barrier import ResizeBarrier
from support.step import Step
from support.waiting import wait_for


class OperatorKilled(Step):
    def operator_pids(self):
        """Processes of all operator pods, found by their containers."""
        pods = install.items(self.cluster, "pods", "-n", install.NAMESPACE, "-l", "app.kubernetes.io/name=podcache-operator")
        ids = {each["containerID"].rpartition("/")[2] for pod in pods for each in pod["status"]["containerStatuses"]}
        tasks = self.cluster.run(self.cluster.state / "bin" / "ctr", "tasks", "ls").stdout
        return [int(pid) for name, pid in re.findall(r"^(\w+)\s+(\d+)", tasks, re.M) if name in ids]

    def kill_operator(self):
        """SIGKILL to every operator process; returns when."""
        pids = self.operator_pids()
        self.assertTrue(pids)
        killed = time.time()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return killed

    def resizes(self, since):
        return [(code, audit.memory_limit_of(patch))
                for _, _, code, patch in audit.resizes(self.cluster, SHOP, self.env.web.pod, since)]

    def test_successor_finishes_a_shrink(self):
        """The middle: the cache has shrunk, the pod has not, since the API server refuses it for a while."""
        self.env.patch_sidecar({"memory": {"size": "256Mi"}})
        self.env.wait_until_sized(256 * MIB, 2, seconds=120)
        self.env.app.fill("bulk", 0, 200_000, 1000)
        since = time.time()
        with ResizeBarrier(self.cluster, SHOP, self.env.web.pod):
            self.env.patch_sidecar({"memory": {"size": "96Mi"}})
            wait_for("refused resize of the pod", lambda: self.resizes(since), 60)
        self.assertEqual(int(self.env.app.stats()["limit_maxbytes"]), 96 * MIB)
        self.assertEqual(self.env.web.cgroup_limit(), 346 * MIB)
        self.assertEqual(self.resizes(since), [(403, "170Mi")])

        killed = self.kill_operator()
        self.env.wait_until_sized(96 * MIB, 2, seconds=120)
        self.env.record("step8_finished_after_kill_seconds", time.time() - killed)
        self.assertEqual(self.env.web.cgroup_limit(), 170 * MIB)
        self.assertEqual(self.resizes(killed), [(200, "170Mi")])
        self.assert_no_harm()
