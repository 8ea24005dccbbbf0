"""The chart on a real API server: upgrades leave alone what the operator owns, the operator has exactly the rights of the
table, uninstalling keeps the CRDs only."""
import base64
import pathlib
import subprocess
import sys
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/kube"), str(ROOT / "tests/cluster")]
from api_server import BASE, ApiError, ApiServer, collection, wait_for  # noqa: E402
from cluster_lib import binaries  # noqa: E402

NAMESPACE = "podcache-system"
WEBHOOK = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/podcache-injector"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/podcache-certs"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/podcache-operator"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/podcache-operator"
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/cachesidecars.podcache.dev"


def helm(*arguments):
    command = [binaries.ensure(["helm"]) / "helm", "--kubeconfig", ADMIN.kubeconfig, "--namespace", NAMESPACE, *arguments]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def upgrade(*settings):
    # Another test may have brought the CRDs.
    helm("upgrade", "--install", "podcache", ROOT / "charts/podcache", "--create-namespace", "--take-ownership",
         *(word for setting in settings for word in ("--set", setting)))


def exists(path):
    try:
        return bool(ADMIN.request("GET", path))
    except ApiError as error:
        assert error.code == 404, error
        return False


def setUpModule():
    global ADMIN, OPERATOR
    ADMIN, OPERATOR = ApiServer(), ApiServer("-operator")
    # Tests of the operator leave one with webhooks by URL, which the chart's cannot be merged with.
    if exists(WEBHOOK):
        ADMIN.request("DELETE", WEBHOOK)
    upgrade()


def tearDownModule():
    if exists(DEPLOYMENT):
        helm("uninstall", "podcache")


class Rights(unittest.TestCase):
    def allowed(self, group, resource, verb, name="", namespace="shop"):
        resource, _, subresource = resource.partition("/")
        review = OPERATOR.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"group": group, "resource": resource, "subresource": subresource, "verb": verb,
                                            "name": name, "namespace": namespace}}})
        return review["status"]["allowed"]

    def test_has_what_the_table_says(self):
        table = yaml.safe_load((ROOT / "manifests/rbac/permissions.yaml").read_text())["permissions"]
        for entry in table:
            rule, scope = entry["rule"], entry["scope"]
            namespace = {"own": NAMESPACE, "probe": NAMESPACE, "watched": "shop"}.get(scope, "")
            for verb in rule["verbs"]:
                for name in rule.get("resourceNames", [""]):
                    with self.subTest(resource=rule["resources"], verb=verb, name=name):
                        granted = self.allowed(rule["apiGroups"][0], rule["resources"][0], verb, name, namespace)
                        self.assertEqual(granted, scope not in ("nodes", "probe"))

    def test_has_nothing_more(self):
        for group, resource, verb, name, namespace in (
                ("", "secrets", "get", "other", NAMESPACE), ("", "secrets", "list", "", NAMESPACE),
                ("", "secrets", "get", "podcache-certs", "shop"), ("", "secrets", "create", "", NAMESPACE),
                ("", "pods", "create", "", "shop"), ("", "pods", "delete", "", "shop"), ("", "pods", "update", "", "shop"),
                ("", "pods/exec", "create", "", "shop"), ("", "nodes", "get", "", ""), ("", "namespaces", "list", "", ""),
                ("podcache.dev", "cachesidecars", "update", "", "shop"),
                ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "patch", "other", ""),
                ("coordination.k8s.io", "leases", "update", "other", NAMESPACE),
                ("rbac.authorization.k8s.io", "clusterroles", "get", "", "")):
            with self.subTest(resource=resource, verb=verb, name=name, namespace=namespace):
                self.assertFalse(self.allowed(group, resource, verb, name, namespace))


class Upgrade(unittest.TestCase):
    def test_leaves_alone_what_the_operator_owns(self):
        """As the operator does it: with its rights, by the same kinds of request."""
        bundle = base64.b64encode(b"the CA").decode()
        OPERATOR.request("PATCH", WEBHOOK, [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle},
                                            {"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": bundle}],
                         "application/json-patch+json")
        secret = OPERATOR.request("GET", SECRET)
        OPERATOR.request("PUT", SECRET, {**secret, "data": {"ca.crt": bundle}})
        lease = OPERATOR.request("GET", LEASE)
        OPERATOR.request("PUT", LEASE, {**lease, "spec": {"holderIdentity": "one", "leaseDurationSeconds": 15}})

        upgrade("operator.replicas=2", "webhook.excludedNamespaces={mine}")

        self.assertEqual(ADMIN.request("GET", DEPLOYMENT)["spec"]["replicas"], 2)
        entries = ADMIN.request("GET", WEBHOOK)["webhooks"]
        self.assertIn("mine", entries[0]["namespaceSelector"]["matchExpressions"][0]["values"])
        self.assertEqual([each["clientConfig"]["caBundle"] for each in entries], [bundle, bundle])
        self.assertEqual(ADMIN.request("GET", SECRET)["data"], {"ca.crt": bundle})
        self.assertEqual(ADMIN.request("GET", LEASE)["spec"]["holderIdentity"], "one")


class Webhook(unittest.TestCase):
    def pod(self, name, **labels):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
                "spec": {"containers": [{"name": "app", "image": "registry.example/app:1"}]}}

    def create(self, pod, namespace="default"):
        return ADMIN.request("POST", f"/api/v1/namespaces/{namespace}/pods", pod, dryRun="All")

    def test_without_an_operator_only_required_pods_are_refused(self):
        """Nobody serves the webhook here, as when the operator is gone."""
        self.create(self.pod("plain"))
        self.create(self.pod("opted-in", **{"podcache.dev/inject": "true"}))
        with self.assertRaises(ApiError) as raised:
            self.create(self.pod("needs-it", **{"podcache.dev/inject": "required"}))
        self.assertIn("inject-required.podcache.dev", str(raised.exception))

    def test_never_for_the_system_and_the_operator(self):
        for namespace in ("kube-system", NAMESPACE):
            self.create(self.pod("needs-it", **{"podcache.dev/inject": "required"}), namespace)

    def test_never_on_the_host_network(self):
        pod = self.pod("host", **{"podcache.dev/inject": "required"})
        pod["spec"]["hostNetwork"] = True
        self.create(pod)


class ZUninstall(unittest.TestCase):
    """Runs last: classes are taken in the order of their names."""

    def test_keeps_the_crds_and_their_objects_only(self):
        path = f"{collection('cachesidecars')}/kept"
        ADMIN.request("POST", collection("cachesidecars"), {**BASE["cachesidecars"], "metadata": {"name": "kept"}})
        helm("uninstall", "podcache")
        for gone in (DEPLOYMENT, SECRET, LEASE, WEBHOOK, "/apis/rbac.authorization.k8s.io/v1/clusterroles/podcache-operator",
                     "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/podcache-operator"):
            wait_for(f"{gone} is gone", lambda gone=gone: not exists(gone))
        self.assertTrue(exists(CRD))
        self.assertTrue(exists(path))
        ADMIN.request("DELETE", path)


if __name__ == "__main__":
    unittest.main()
