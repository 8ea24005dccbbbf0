"""Looks at one injected cache from all sides: the API server's view, the container's cgroup and process, its metrics.

The node's processes are this machine's, so cgroup files and /proc are read directly, not through the cache's own words.
"""
import json
import re
from pathlib import Path

from . import metrics
from cluster_lib import cgroups

CONTAINER = "podcache"
MIB = 2**20


class Sidecar:
    def __init__(self, cluster, namespace, pod):
        self._cluster = cluster
        self.namespace, self.pod = namespace, pod
        status = self.read()
        self.uid = status["metadata"]["uid"]
        self.address = status["status"]["podIP"]
        self._container_id = self.container_status(status)["containerID"].rpartition("/")[2]
        self.pid = self._find_pid()
        self._cgroup = self._find_cgroup()

    def read(self):
        return json.loads(self._cluster.kubectl("get", "pod", self.pod, "-n", self.namespace, "-o", "json").stdout)

    def container_status(self, pod=None):
        pod = pod or self.read()
        return next(each for each in pod["status"]["initContainerStatuses"] if each["name"] == CONTAINER)

    def restarts(self):
        """Restarts of all containers of the pod."""
        status = self.read()["status"]
        return sum(each["restartCount"] for each in status["initContainerStatuses"] + status["containerStatuses"])

    def _find_pid(self):
        tasks = self._cluster.run(self._cluster.state / "bin" / "ctr", "tasks", "ls").stdout
        return int(re.search(rf"^{self._container_id}\s+(\d+)", tasks, re.M).group(1))

    def _find_cgroup(self):
        """The folder that limits the container's memory."""
        for line in Path(f"/proc/{self.pid}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if cgroups.is_v2() and controllers == "":
                return cgroups.MOUNT / path.lstrip("/")
            if "memory" in controllers.split(","):
                return cgroups.MOUNT / "memory" / path.lstrip("/")
        raise RuntimeError(f"process {self.pid} is in no memory cgroup")

    def _cgroup_value(self, v2_name, v1_name):
        return (self._cgroup / (v2_name if cgroups.is_v2() else v1_name)).read_text()

    def cgroup_limit(self):
        return int(self._cgroup_value("memory.max", "memory.limit_in_bytes"))

    def cgroup_usage(self):
        """Charged memory, without the page cache that the kernel gives back by itself."""
        statistics = dict(line.split() for line in (self._cgroup / "memory.stat").read_text().splitlines())
        total = int(self._cgroup_value("memory.current", "memory.usage_in_bytes"))
        return total - int(statistics["inactive_file" if cgroups.is_v2() else "total_inactive_file"])

    def oom_kills(self):
        text = self._cgroup_value("memory.events", "memory.oom_control")
        return int(re.search(r"^oom_kill (\d+)", text, re.M).group(1))

    def resident(self):
        return int(re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text()).group(1)) * 1024

    def thread_names(self):
        return [each.read_text().strip() for each in Path(f"/proc/{self.pid}/task").glob("*/comm")]

    def workers(self):
        """Worker threads, as the kernel lists them."""
        return sum(1 for name in self.thread_names() if name.startswith("worker"))

    def metrics(self):
        return metrics.scrape(self.address)

    def log(self):
        return self._cluster.kubectl("logs", self.pod, "-n", self.namespace, "-c", CONTAINER).stdout
