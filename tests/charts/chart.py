"""Renders the chart with Helm, and finds things in what comes out."""
import functools
import json
import os
import pathlib
import subprocess

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "charts/podcache"
BIN = ROOT / "build" / os.environ.get("PODCACHE_TEST_PRESET", "asan") / "bin"
NAMESPACE = "podcache-system"
POD_MONITOR = "monitoring.coreos.com/v1/PodMonitor"
PROMETHEUS_RULE = "monitoring.coreos.com/v1/PrometheusRule"


class Refused(Exception):
    """Helm did not render; the message is its own."""


def helm(*arguments):
    done = subprocess.run([os.environ.get("HELM", "helm"), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(done.stderr)
    return done.stdout


def render(values=None, api_versions=(), kube_version="1.35.0", release="podcache"):
    """All rendered objects, hooks included. `values`: {path: value}, as for --set-json."""
    return list(_render(json.dumps(values or {}, sort_keys=True), tuple(api_versions), kube_version, release))


@functools.cache
def _render(values, api_versions, kube_version, release):
    command = ["template", release, CHART, "--namespace", NAMESPACE, "--kube-version", kube_version]
    for path, value in json.loads(values).items():
        command += ["--set-json", f"{path}={json.dumps(value)}"]
    for each in api_versions:
        command += ["--api-versions", each]
    return [document for document in yaml.safe_load_all(helm(*command)) if document]


def find(documents, kind, name=None):
    """The one object of that kind (and name)."""
    found = [each for each in documents if each["kind"] == kind and name in (None, each["metadata"]["name"])]
    assert len(found) == 1, f"{len(found)} objects of kind {kind}, name {name}"
    return found[0]


def kinds(documents):
    return sorted(each["kind"] for each in documents)


def crds():
    """{plural: CRD} of the source of truth."""
    result = {}
    for path in sorted((ROOT / "manifests/crd").glob("*.yaml")):
        crd = yaml.safe_load(path.read_text(encoding="utf-8"))
        result[crd["spec"]["names"]["plural"]] = crd
    return result
