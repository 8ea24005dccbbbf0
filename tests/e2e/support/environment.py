"""The one cluster of a test run, shared by all steps: made at the first step, removed when the process ends.

PODCACHE_KEEP=1 leaves it running for a look (and says how); PODCACHE_E2E_STATE names another folder for it.
"""
import atexit
import functools
import hashlib
import json
import os
import sys
import time
from pathlib import Path

from . import TOP, application, install, network
from .sidecar import Sidecar
from cluster_lib import binaries
from cluster_lib.cluster import Cluster
from cluster_lib.processes import wait_for

RESULTS = TOP / "build" / "results"
SHOP = "shop"
MIB = 2**20


class Environment:
    def __init__(self):
        default = binaries.cache_folder() / ("e2e-" + hashlib.sha256(str(TOP).encode()).hexdigest()[:8])
        self.cluster = Cluster(os.environ.get("PODCACHE_E2E_STATE") or default)
        self.results = {}
        self.failed = False
        self._bring_up()

    def _bring_up(self):
        app_image = application.build_image()
        self.cluster.down()
        atexit.register(self._finish)
        started = time.monotonic()
        self.cluster.up()
        self.record("cluster_start_seconds", time.monotonic() - started)
        install.load_images(self.cluster)
        self.cluster.load_image(app_image)
        network.enter(self.cluster.name)

    def _finish(self):
        if self.failed:
            self.save_diagnostics()
        if os.environ.get("PODCACHE_KEEP"):
            print(f"kept: export PATH={self.cluster.state}/bin:$PATH; remove: tests/cluster/cluster down {self.cluster.state}",
                  file=sys.stderr)
        else:
            self.cluster.down()

    def record(self, name, value):
        """A measured number: printed, and kept in build/results/e2e.json."""
        self.results[name] = round(value, 3) if isinstance(value, float) else value
        print(f"  {name} = {self.results[name]}", file=sys.stderr, flush=True)
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / "e2e.json").write_text(json.dumps(self.results, indent=1) + "\n")

    def save_diagnostics(self):
        """What a person would look at first after a failure."""
        folder = RESULTS / "e2e-diagnostics"
        folder.mkdir(parents=True, exist_ok=True)
        views = {
            "pods.txt": ("get", "pods", "-A", "-o", "wide"),
            "events.txt": ("get", "events", "-A", "--sort-by=.lastTimestamp"),
            "podcache.yaml": ("get", "cachesidecars,cacheprofiles", "-A", "-o", "yaml"),
            "shop-pods.yaml": ("get", "pods", "-n", SHOP, "-o", "yaml"),
            "operator.log": ("logs", "-n", install.NAMESPACE, "deployment/podcache-operator", "--all-pods", "--tail=-1"),
            "operator.txt": ("describe", "pods", "-n", install.NAMESPACE),
            "sidecar.log": ("logs", "-n", SHOP, "-l", "app=web", "-c", "podcache", "--tail=-1"),
            "app.log": ("logs", "-n", SHOP, "-l", "app=web", "-c", "app", "--tail=200"),
        }
        for name, words in views.items():
            done = self.cluster.kubectl(*words, check=False)
            (folder / name).write_text(done.stdout + done.stderr)
        audit = self.cluster.state / "audit.log"
        if audit.exists():
            (folder / "audit.log").write_text(audit.read_text())
        print(f"  diagnostics: {folder}", file=sys.stderr)

    def helm(self, *words):
        return self.cluster.helm(*words)

    def patch_sidecar(self, spec, name="web-l1"):
        self.cluster.kubectl("patch", "cachesidecar", name, "-n", SHOP, "--type", "merge", "-p", json.dumps({"spec": spec}))

    def cache_sidecar(self, name="web-l1"):
        return install.get(self.cluster, "cachesidecar", name, "-n", SHOP)

    def web_pods(self):
        pods = install.items(self.cluster, "pods", "-n", SHOP, "-l", "app=web")
        return [each for each in pods if "deletionTimestamp" not in each["metadata"]]

    @functools.cached_property
    def web(self):
        """The sidecar of the web Deployment's one pod; later steps prove that it stays the same."""
        return Sidecar(self.cluster, SHOP, self.web_pods()[0]["metadata"]["name"])

    @functools.cached_property
    def app(self):
        return application.Client(self.web.address)

    def client_errors(self):
        """What must stay zero while the cache is resized: errors and wrong values that the application met."""
        load = self.app.status()["load"]
        return {"errors": load["errors"], "wrong": load["wrong"], "lastError": load.get("lastError", "")}

    def wait_until_sized(self, size_bytes, threads, seconds=60):
        """Until the cache itself and the CacheSidecar's status say that the size is in force."""
        def check():
            stats = self.app.stats()
            if (int(stats["limit_maxbytes"]), int(stats["threads"])) != (size_bytes, threads):
                return False
            seen = self.cache_sidecar()
            status = seen["status"]
            return (status["observedGeneration"] == seen["metadata"]["generation"]
                    and status["resizedPods"] == status["injectedPods"] and status["pendingPods"] == 0
                    and install.condition(seen, "Resizing").get("status") == "False"
                    and install.condition(seen, "Ready").get("status") == "True")

        wait_for(f"cache of {size_bytes // MIB} MiB and {threads} threads", check, seconds, 0.05,
                 lambda: json.dumps(self.cache_sidecar().get("status", {}), indent=1))


@functools.cache
def get():
    return Environment()
