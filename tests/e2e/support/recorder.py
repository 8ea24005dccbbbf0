"""Watches one cache through a resize: a thread that notes, many times a second, cgroup limit, cache limit and memory."""
import threading
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    began: float         # seconds since the epoch, as the API server's audit log counts; nothing was read before
    ended: float         # everything was read by then
    cgroup_before: int   # bytes; read before and after the cache's own figures, because either may change in between
    cgroup_after: int
    limit: int           # bytes, the cache's limit in force
    target: int          # bytes, what the cache was asked for
    resident: int        # bytes, of the process
    evicted: int         # items, since start


class Recorder:
    """Use as a context. Only the recording thread writes `samples`; read them after the context has ended, or live."""

    def __init__(self, sidecar, interval=0.02):
        self._sidecar, self._interval = sidecar, interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._record, daemon=True)
        self.samples, self.failures = [], []

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _record(self):
        while not self._stop.is_set():
            try:
                began, before = time.time(), self._sidecar.cgroup_limit()
                seen = self._sidecar.metrics()
                after, resident = self._sidecar.cgroup_limit(), self._sidecar.resident()
                self.samples.append(Sample(
                    began, time.time(), before, after, int(seen.get("podcache_memory_budget_bytes")),
                    int(seen.get("podcache_memory_budget_target_bytes")), resident,
                    int(seen.get("memcached_items_evicted_total"))))
            except OSError as error:
                self.failures.append(str(error))
            self._stop.wait(self._interval)

    def violations(self, overhead_percent, overhead_fixed):
        """Samples in which limit + overhead did not fit the container's actual limit."""
        def needed(limit):
            return limit + limit * overhead_percent // 100 + overhead_fixed

        return [each for each in self.samples if needed(each.limit) > max(each.cgroup_before, each.cgroup_after)]
