"""The live table: hit ratio, memory and threads of one sidecar, read through the API server's proxy."""
import json
import time
from dataclasses import dataclass

from support.metrics import Samples

from .places import note

MIB = 2**20
PERIOD = 2.5  # seconds between lines


@dataclass(frozen=True)
class Now:
    time: float
    requests: int
    hits: int
    gets: int
    errors: int
    limit: int      # bytes
    used: int       # bytes
    resident: int   # bytes
    cgroup: int     # bytes
    threads: int
    hit_ratio: float = 0.0  # of the last period


class LiveView:
    """Follows the one pod of a Deployment; a replaced pod is an error, for no resize may replace it."""

    def __init__(self, place, namespace, app):
        self._place, self._namespace = place, namespace
        pods = json.loads(place.kubectl("get", "pods", "-n", namespace, "-l", f"app={app}", "-o", "json").stdout)["items"]
        running = [each for each in pods if "deletionTimestamp" not in each["metadata"]]
        if len(running) != 1:
            raise RuntimeError(f"{len(running)} pods of {app}, one expected")
        self._pod = running[0]["metadata"]["name"]
        self._last = self.now()

    def _proxy(self, port, path):
        return self._place.kubectl("get", "--raw", f"/api/v1/namespaces/{self._namespace}/pods/{self._pod}:{port}/proxy{path}").stdout

    def now(self):
        load = json.loads(self._proxy(8000, "/status"))["load"]
        seen = Samples(self._proxy(9150, "/metrics"))
        return Now(time.monotonic(), load["gets"] + load["sets"], load["hits"], load["gets"], load["errors"] + load["wrong"],
                   int(seen.get("memcached_limit_bytes")), int(seen.get("memcached_current_bytes")),
                   int(seen.get("podcache_resident_memory_bytes")), int(seen.get("podcache_cgroup_memory_limit_bytes")),
                   int(seen.get("podcache_threads")))

    def watch(self, seconds):
        """Prints a line every period and returns the last one. Client errors end the demonstration."""
        note("   requests/s   hit ratio   items     cache limit   resident   cgroup limit   threads   errors")
        for _ in range(round(seconds / PERIOD)):
            time.sleep(PERIOD)
            now, before = self.now(), self._last
            self._last = now = Now(**{**vars(now), "hit_ratio": (now.hits - before.hits) / max(now.gets - before.gets, 1)})
            rate = (now.requests - before.requests) / (now.time - before.time)
            note(f"   {rate:10.0f}   {now.hit_ratio:9.1%}   {now.used // MIB:3d} MiB   {now.limit // MIB:7d} MiB   "
                 f"{now.resident // MIB:4d} MiB   {now.cgroup // MIB:8d} MiB   {now.threads:7d}   {now.errors:6d}")
            if now.errors:
                raise RuntimeError("the app met errors: kubectl logs tells which")
        return self._last

    def requests(self):
        return self._last.requests

    def restarts(self):
        pod = json.loads(self._place.kubectl("get", "pod", self._pod, "-n", self._namespace, "-o", "json").stdout)
        statuses = pod["status"].get("initContainerStatuses", []) + pod["status"]["containerStatuses"]
        return sum(each["restartCount"] for each in statuses)
