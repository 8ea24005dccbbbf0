"""Holds pods at the step of a resize where the cache has shrunk and the pod has not: the API server refuses pods/resize."""
import json

from . import install
from .waiting import wait_for

NAME = "e2e-hold-resize"
MESSAGE = "held by the test"
KIND = "admissionregistration.k8s.io/v1"


def _policy(namespace):
    return {"apiVersion": KIND, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": NAME},
            "spec": {"failurePolicy": "Fail",
                     "matchConstraints": {
                         "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                         "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"],
                                            "resources": ["pods/resize"]}]},
                     "validations": [{"expression": "false", "message": MESSAGE, "reason": "Forbidden"}]}}


BINDING = {"apiVersion": KIND, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": NAME},
           "spec": {"policyName": NAME, "validationActions": ["Deny"]}}


class ResizeBarrier:
    """Down for the time of the `with` block; on entering and leaving it waits until the API server does as told."""

    def __init__(self, cluster, namespace, pod):
        self.cluster, self.namespace, self.pod = cluster, namespace, pod

    def _is_refused(self):
        """Asks without changing anything: a dry run of another CPU request for the app's container."""
        patch = {"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "101m"}}}]}}
        done = self.cluster.kubectl("patch", "pod", self.pod, "-n", self.namespace, "--subresource", "resize", "--type",
                                    "strategic", "--dry-run=server", "-p", json.dumps(patch), check=False)
        if done.returncode and MESSAGE not in done.stderr:
            raise AssertionError(done.stderr)
        return done.returncode != 0

    def __enter__(self):
        install.apply(self.cluster, _policy(self.namespace), BINDING)
        wait_for("refusal of pods/resize", self._is_refused, 30)
        return self

    def __exit__(self, *_):
        for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
            self.cluster.kubectl("delete", kind, NAME)
        wait_for("end of the refusal of pods/resize", lambda: not self._is_refused(), 30)
