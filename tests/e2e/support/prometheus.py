"""Debian's Prometheus, scraping caches with the labels that a PodMonitor would give them.

Debian builds it without Kubernetes discovery, so the targets are named.
"""
import json
import shutil
import urllib.parse
import urllib.request

from cluster_lib.processes import wait_for

PORT = 9090  # in the cluster's own network


class Prometheus:
    """Runs as one more process of the cluster, so that `down` stops it too."""

    def __init__(self, cluster, jobs, interval_seconds=1):
        """`jobs`: {job: [(address and port, labels)]}"""
        self._cluster, self._interval = cluster, interval_seconds
        self._jobs = [{"job_name": job, "static_configs": [{"targets": [address], "labels": labels}
                                                           for address, labels in targets]}
                      for job, targets in jobs.items()]

    def start(self):
        state = self._cluster.state
        config = {  # JSON is YAML
            "global": {"scrape_interval": f"{self._interval}s"},
            "scrape_configs": self._jobs}
        (state / "prometheus.json").write_text(json.dumps(config, indent=1))
        self._cluster.processes.start(
            "prometheus", shutil.which("prometheus"), f"--config.file={state}/prometheus.json",
            f"--storage.tsdb.path={state}/prometheus", f"--web.listen-address=127.0.0.1:{PORT}")
        wait_for("Prometheus", self._ready, 30, 0.2, lambda: self._cluster.processes.log_tail("prometheus"))

    def stop(self):
        self._cluster.processes.stop("prometheus")

    def _ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/-/ready", timeout=2) as reply:
                return reply.status == 200
        except OSError:
            return False

    def query(self, expression):
        """The instant vector as [(labels, value)]; an error of the query is an exception."""
        address = f"http://127.0.0.1:{PORT}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(address, timeout=10) as reply:
            answer = json.load(reply)
        result = answer["data"]["result"]
        if answer["data"]["resultType"] == "scalar":
            return [({}, float(result[1]))]
        return [(each["metric"], float(each["value"][1])) for each in result]

    def value(self, expression):
        """The one value of a query, or None while there is none."""
        found = self.query(expression)
        if len(found) > 1:
            raise RuntimeError(f"{expression}: {len(found)} series, one expected")
        return found[0][1] if found else None
