"""The sample application of tests/e2e/app: its image, its manifests, its HTTP answers."""
import json
import os
import subprocess
import urllib.request

from . import TOP
from cluster_lib import binaries, images

IMAGE = "localhost/podcache-sample:1"
PORT = 8000
SOCKET_FOLDER = "/var/run/podcache"
SOCKET = f"{SOCKET_FOLDER}/podcache.sock"


def build_image():
    """Builds the program and returns the path of its image archive."""
    out = TOP / "build" / "e2e"
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run([binaries.go_toolchain(), "build", "-trimpath", "-ldflags=-s -w", "-o", out / "app", "."], check=True,
                   cwd=TOP / "tests" / "e2e" / "app", env={**os.environ, "CGO_ENABLED": "0"})
    images.write_archive(out / "app.tar", IMAGE, {"/app": out / "app"}, ["/app"])
    return out / "app.tar"


def container(*arguments, image=IMAGE, **fields):
    """The application's container; restricted as a careful team would run it."""
    return {
        "name": "app", "image": image, "imagePullPolicy": "IfNotPresent", "args": list(arguments),
        "ports": [{"name": "status", "containerPort": PORT}],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "runAsNonRoot": True,
                            "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}},
        **fields,
    }


def pod_template(labels, app, **spec):
    return {"metadata": {"labels": {"podcache.dev/inject": "true", **labels}},
            "spec": {"containers": [app], "terminationGracePeriodSeconds": 10, **spec}}


def deployment(namespace, name, app, labels=None, replicas=1):
    labels = {"app": name, **(labels or {})}
    probed = {**app, "readinessProbe": {"httpGet": {"path": "/healthz", "port": PORT}, "periodSeconds": 1}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                     "template": pod_template(labels, probed)}}


def job(namespace, name, app, labels=None):
    """A Job is done when its app container is: the sidecar must not keep it."""
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": namespace},
            "spec": {"backoffLimit": 0,
                     "template": pod_template({"app": name, **(labels or {})}, app, restartPolicy="Never")}}


class Client:
    """HTTP to one pod of the application. The network must be the cluster's."""

    def __init__(self, address):
        self._base = f"http://{address}:{PORT}"

    def _call(self, path, method="GET", timeout=120):
        with urllib.request.urlopen(urllib.request.Request(self._base + path, method=method), timeout=timeout) as reply:
            return json.load(reply)

    def status(self):
        return self._call("/status", timeout=10)

    def stats(self):
        """The cache's own `stats`, asked over the application's connection."""
        return self._call("/stats", timeout=10)

    def fill(self, prefix, first, last, mean_bytes=250):
        return self._call(f"/fill?prefix={prefix}&from={first}&to={last}&bytes={mean_bytes}", "POST")

    def verify(self, prefix, first, last, mean_bytes=250):
        """What reading the items met; they must have been filled with the same mean size."""
        return self._call(f"/verify?prefix={prefix}&from={first}&to={last}&bytes={mean_bytes}", "POST")
