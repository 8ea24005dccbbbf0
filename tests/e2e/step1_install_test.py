"""Step 1: helm install; the operator is Ready, the CRDs are served, the webhook's CA is in place."""
import base64
import time

from support import install
from support.environment import SHOP
from support.step import Step
from support.waiting import wait_for

# The arithmetic of every size below: limit = size * 1.10 + 64Mi, rounded up to whole MiB.
OVERHEAD_PERCENT, OVERHEAD_FIXED_MIB = 10, 64
PROFILE = {
    "apiVersion": "podcache.dev/v1alpha1", "kind": "CacheProfile", "metadata": {"name": "e2e"},
    "spec": {"rules": [{"name": "everything", "threads": {"perCPUPercent": 50, "min": 1, "max": 4},
                        "memory": {"overheadPercent": OVERHEAD_PERCENT, "overheadFixed": f"{OVERHEAD_FIXED_MIB}Mi"}}]}}
CACHE_SIDECAR = {
    "apiVersion": "podcache.dev/v1alpha1", "kind": "CacheSidecar", "metadata": {"name": "web-l1", "namespace": SHOP},
    "spec": {"selector": {"matchLabels": {"cache": "web-l1"}}, "profileRef": {"name": "e2e"},
             "memory": {"size": "64Mi"}, "threads": {"mode": "Fixed", "count": 1},
             "listen": {"loopback": True, "unixSocket": {"enabled": True, "mountPath": "/var/run/podcache"}}}}


class Install(Step):
    def test_1_helm_install(self):
        started = time.monotonic()
        install.install(self.env.helm)
        self.env.record("helm_install_seconds", time.monotonic() - started)

    def test_2_operator_is_ready(self):
        deployment = install.get(self.cluster, "deployment", "podcache-operator", "-n", install.NAMESPACE)
        self.assertEqual(deployment["status"]["readyReplicas"], deployment["spec"]["replicas"])
        self.assertEqual(install.condition(deployment, "Available")["status"], "True")

    def test_3_kinds_are_served(self):
        names = self.cluster.kubectl("api-resources", "--api-group=podcache.dev", "-o", "name").stdout.split()
        self.assertIn("cachesidecars.podcache.dev", names)
        self.assertIn("cacheprofiles.podcache.dev", names)
        for short in ("csc", "cprof"):
            self.cluster.kubectl("get", short, "-A")

    def test_4_webhook_has_its_ca(self):
        def bundles():
            found = install.get(self.cluster, "mutatingwebhookconfiguration", "podcache-injector")
            values = [each["clientConfig"].get("caBundle") for each in (found or {}).get("webhooks", [])]
            return values if values and all(values) else None

        for bundle in wait_for("caBundle of the webhook", bundles, 30):
            self.assertIn("BEGIN CERTIFICATE", base64.b64decode(bundle).decode())

    def test_5_a_cache_sidecar_becomes_ready_for_injection(self):
        self.cluster.kubectl("create", "namespace", SHOP)
        install.apply(self.cluster, PROFILE, CACHE_SIDECAR)
        wait_for("InjectionReady", lambda: install.condition(self.env.cache_sidecar(), "InjectionReady")
                 .get("status") == "True", 30)
