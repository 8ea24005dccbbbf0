"""Step 9: helm uninstall leaves nothing behind but what is meant to be kept; the apps run on with their caches."""
from support import install
from support.environment import MIB
from support.step import Step
from support.waiting import wait_for

# Kinds that the chart or the operator make; events and the CRDs with their objects are looked at apart.
NAMESPACED = ("deployments", "replicasets", "pods", "services", "serviceaccounts", "secrets", "configmaps", "roles",
              "rolebindings", "leases", "poddisruptionbudgets", "networkpolicies", "endpointslices")
CLUSTER_WIDE = ("clusterroles", "clusterrolebindings", "mutatingwebhookconfigurations", "validatingwebhookconfigurations")
OF_KUBERNETES = {"serviceaccounts/default", "configmaps/kube-root-ca.crt"}


class Uninstall(Step):
    def left_in_namespace(self):
        found = set()
        for kind in NAMESPACED:
            for each in install.items(self.cluster, kind, "-n", install.NAMESPACE):
                found.add(f"{kind}/{each['metadata']['name']}")
        return found - OF_KUBERNETES

    def left_cluster_wide(self):
        return {f"{kind}/{each['metadata']['name']}" for kind in CLUSTER_WIDE
                for each in install.items(self.cluster, kind) if "podcache" in each["metadata"]["name"]}

    def test_1_nothing_left_but_the_crds(self):
        install.uninstall(self.env.helm)
        wait_for("nothing left in the namespace", lambda: not self.left_in_namespace(), 60,
                 on_timeout=lambda: ", ".join(sorted(self.left_in_namespace())))
        self.assertEqual(self.left_cluster_wide(), set())

    def test_2_crds_and_their_objects_are_kept(self):
        names = {each["metadata"]["name"] for each in install.items(self.cluster, "customresourcedefinitions")}
        self.assertLessEqual({"cachesidecars.podcache.dev", "cacheprofiles.podcache.dev"}, names)
        self.assertEqual(self.env.cache_sidecar()["spec"]["memory"]["size"], "96Mi")

    def test_3_apps_run_on(self):
        before = self.env.app.status()["load"]["gets"]
        wait_for("load goes on", lambda: self.env.app.status()["load"]["gets"] > before + 1000, 20)
        self.assertEqual(int(self.env.app.stats()["limit_maxbytes"]), 96 * MIB)
        self.assert_no_harm()

    def test_4_new_pods_are_created_without_a_sidecar(self):
        """Nobody is locked out: with the webhook gone, labelled pods start as they are."""
        self.cluster.kubectl("scale", "deployment/web", "-n", "shop", "--replicas=2")
        pods = wait_for("second pod", lambda: len(self.env.web_pods()) == 2 and self.env.web_pods(), 20)
        new = next(each for each in pods if each["metadata"]["uid"] != self.env.web.uid)
        self.assertNotIn("initContainers", new["spec"])
