"""What the chart renders, by default and with each value that adds or removes something."""
import re
import unittest

import yaml

import chart


def container_of(documents):
    return chart.find(documents, "Deployment")["spec"]["template"]["spec"]["containers"][0]


class Defaults(unittest.TestCase):
    def setUp(self):
        self.documents = chart.render()

    def test_lint(self):
        chart.helm("lint", "--strict", chart.CHART)

    def test_kinds(self):
        self.assertEqual(chart.kinds(self.documents), [
            "ClusterRole", "ClusterRole", "ClusterRole", "ClusterRoleBinding", "ConfigMap",
            "CustomResourceDefinition", "CustomResourceDefinition", "Deployment", "Lease",
            "MutatingWebhookConfiguration", "Pod", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount"])

    def test_nothing_that_the_operator_owns(self):
        """A certificate, a holder or a caBundle in the release would be fought over at every upgrade."""
        self.assertNotIn("caBundle", yaml.safe_dump_all(self.documents))
        self.assertNotIn("data", chart.find(self.documents, "Secret"))
        self.assertNotIn("spec", chart.find(self.documents, "Lease"))
        for crd in (each for each in self.documents if each["kind"] == "CustomResourceDefinition"):
            self.assertNotIn("status", crd)

    def test_names_do_not_follow_the_release(self):
        other = chart.render(release="other")
        self.assertEqual([each["metadata"]["name"] for each in self.documents],
                         [each["metadata"]["name"] for each in other])

    def test_every_namespaced_object_names_the_namespace(self):
        cluster_wide = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "MutatingWebhookConfiguration"}
        for each in self.documents:
            expected = None if each["kind"] in cluster_wide else chart.NAMESPACE
            self.assertEqual(each["metadata"].get("namespace"), expected, each["kind"])

    def test_crds_are_kept(self):
        for crd in (each for each in self.documents if each["kind"] == "CustomResourceDefinition"):
            self.assertEqual(crd["metadata"]["annotations"], {"helm.sh/resource-policy": "keep"})

    def test_operator_is_restricted(self):
        """The restricted Pod Security Standard, pod by pod."""
        for pod in (chart.find(self.documents, "Deployment")["spec"]["template"]["spec"],
                    chart.find(self.documents, "Pod")["spec"]):
            self.assertEqual(pod["securityContext"]["runAsNonRoot"], True)
            self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
            self.assertNotIn("hostNetwork", pod)
            for container in pod["containers"] + pod.get("initContainers", []):
                self.assertEqual(container["securityContext"], {
                    "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
                    "readOnlyRootFilesystem": True, "runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532,
                    "seccompProfile": {"type": "RuntimeDefault"}})
                self.assertIn("requests", container["resources"])
                self.assertIn("memory", container["resources"]["limits"])

    def test_probes_and_ports(self):
        container = container_of(self.documents)
        self.assertEqual({each["name"]: each["containerPort"] for each in container["ports"]},
                         {"metrics": 8080, "health": 8081, "webhook": 9443})
        self.assertEqual(container["livenessProbe"]["httpGet"], {"path": "/healthz", "port": "health"})
        self.assertEqual(container["readinessProbe"]["httpGet"], {"path": "/readyz", "port": "health"})

    def test_images(self):
        container = container_of(self.documents)
        version = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())["appVersion"]
        self.assertEqual(container["image"], f"localhost/podcache-operator:{version}")
        self.assertIn(f"--server-image=localhost/podcached:{version}", container["args"])
        other = container_of(chart.render({"image.registry": "registry.example/team", "image.tag": "2"}))
        self.assertEqual(other["image"], "registry.example/team/podcache-operator:2")
        self.assertIn("--server-image=registry.example/team/podcached:2", other["args"])

    def test_versions_agree(self):
        project = re.search(r"project\(podcache VERSION (\S+)", (chart.ROOT / "CMakeLists.txt").read_text())[1]
        metadata = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())
        self.assertEqual((metadata["version"], metadata["appVersion"]), (project, project))


class Webhook(unittest.TestCase):
    def configuration(self, *arguments, **keywords):
        return chart.find(chart.render(*arguments, **keywords), "MutatingWebhookConfiguration")

    def test_two_entries(self):
        entries = self.configuration()["webhooks"]
        self.assertEqual([(each["name"], each["failurePolicy"], each["objectSelector"]["matchExpressions"])
                          for each in entries], [
            ("inject.podcache.dev", "Ignore",
             [{"key": "podcache.dev/inject", "operator": "In", "values": ["true"]}]),
            ("inject-required.podcache.dev", "Fail",
             [{"key": "podcache.dev/inject", "operator": "In", "values": ["required"]}])])
        for each in entries:
            self.assertEqual(each["timeoutSeconds"], 3)
            self.assertEqual(each["reinvocationPolicy"], "IfNeeded")
            self.assertEqual(each["sideEffects"], "None")
            self.assertEqual(each["admissionReviewVersions"], ["v1"])
            self.assertEqual(each["rules"], [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
                                              "resources": ["pods"], "scope": "Namespaced"}])
            self.assertEqual(each["clientConfig"], {"service": {
                "name": "podcache-webhook", "namespace": chart.NAMESPACE, "path": "/mutate", "port": 443}})

    def test_never_locks_the_cluster(self):
        excluded = self.configuration({"webhook.excludedNamespaces": ["mine"]})["webhooks"]
        for each in excluded:
            self.assertEqual(each["namespaceSelector"]["matchExpressions"], [{
                "key": "kubernetes.io/metadata.name", "operator": "NotIn",
                "values": ["kube-node-lease", "kube-public", "kube-system", chart.NAMESPACE, "mine"]}])

    def test_watched_namespaces_only(self):
        for each in self.configuration({"operator.watchNamespaces": ["a", "b"]})["webhooks"]:
            self.assertEqual(each["namespaceSelector"]["matchExpressions"][0], {
                "key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a", "b"]})

    def test_match_conditions_from_1_30(self):
        for version, expected in (("1.29.9", False), ("1.30.0", True), ("1.30.1-gke.5", True), ("1.37.2", True)):
            for each in self.configuration(kube_version=version)["webhooks"]:
                self.assertEqual("matchConditions" in each, expected, version)

    def test_older_clusters_are_refused(self):
        with self.assertRaisesRegex(chart.Refused, "kubeVersion"):
            chart.render(kube_version="1.28.5")


class Optional(unittest.TestCase):
    def test_pod_monitors_need_their_kind(self):
        self.assertNotIn("PodMonitor", chart.kinds(chart.render()))
        documents = chart.render(api_versions=[chart.POD_MONITOR])
        caches = chart.find(documents, "PodMonitor", "podcache-caches")["spec"]
        self.assertEqual(caches["namespaceSelector"], {"any": True})
        self.assertEqual(caches["selector"]["matchExpressions"], [{"key": "podcache.dev/sidecar", "operator": "Exists"}])
        endpoint = caches["podMetricsEndpoints"][0]
        self.assertEqual(endpoint["port"], "http-metrics")
        # Dashboards for memcached take their variables from these.
        self.assertLessEqual({"namespace", "job", "instance"}, {each["targetLabel"] for each in endpoint["relabelings"]})
        self.assertNotIn("PodMonitor", chart.kinds(
            chart.render({"monitoring.podMonitor.enabled": False}, api_versions=[chart.POD_MONITOR])))

    def test_pod_monitor_of_watched_namespaces(self):
        documents = chart.render({"operator.watchNamespaces": ["a"]}, api_versions=[chart.POD_MONITOR])
        self.assertEqual(chart.find(documents, "PodMonitor", "podcache-caches")["spec"]["namespaceSelector"],
                         {"matchNames": ["a"]})

    def test_alerts_are_off_by_default(self):
        kinds = chart.kinds(chart.render(api_versions=[chart.PROMETHEUS_RULE]))
        self.assertNotIn("PrometheusRule", kinds)
        enabled = {"monitoring.prometheusRule.enabled": True}
        self.assertNotIn("PrometheusRule", chart.kinds(chart.render(enabled)))
        rule = chart.find(chart.render(enabled, api_versions=[chart.PROMETHEUS_RULE]), "PrometheusRule")
        self.assertEqual(rule["spec"], yaml.safe_load((chart.CHART / "dashboards/alerts.yaml").read_text()))

    def test_replicas(self):
        documents = chart.render({"operator.replicas": 2})
        self.assertEqual(chart.find(documents, "Deployment")["spec"]["replicas"], 2)
        self.assertEqual(chart.find(documents, "PodDisruptionBudget")["spec"]["maxUnavailable"], 1)

    def test_switches(self):
        self.assertNotIn("CustomResourceDefinition", chart.kinds(chart.render({"crds.enabled": False})))
        crd = chart.find(chart.render({"crds.keep": False}), "CustomResourceDefinition", "cachesidecars.podcache.dev")
        self.assertNotIn("annotations", crd["metadata"])
        self.assertNotIn("ConfigMap", chart.kinds(chart.render({"monitoring.dashboard.enabled": False})))
        self.assertIn("NetworkPolicy", chart.kinds(chart.render({"networkPolicy.enabled": True})))
        roles = chart.kinds(chart.render({"rbac.aggregateToDefaultRoles": False}))
        self.assertEqual(roles.count("ClusterRole"), 1)

    def test_pod_settings(self):
        documents = chart.render({
            "operator.nodeSelector": {"pool": "system"}, "operator.tolerations": [{"operator": "Exists"}],
            "operator.affinity": {"nodeAffinity": {}}, "operator.priorityClassName": "high",
            "operator.podLabels": {"team": "platform"}, "operator.podAnnotations": {"a": "b"},
            "operator.serviceAccountAnnotations": {"c": "d"}, "image.pullSecrets": ["regcred"],
            "operator.extraArgs": ["--log-level=debug"]})
        template = chart.find(documents, "Deployment")["spec"]["template"]
        self.assertEqual(template["metadata"]["labels"]["team"], "platform")
        self.assertEqual(template["metadata"]["annotations"], {"a": "b"})
        self.assertEqual(template["spec"]["nodeSelector"], {"pool": "system"})
        self.assertEqual(template["spec"]["tolerations"], [{"operator": "Exists"}])
        self.assertEqual(template["spec"]["affinity"], {"nodeAffinity": {}})
        self.assertEqual(template["spec"]["priorityClassName"], "high")
        self.assertEqual(template["spec"]["imagePullSecrets"], [{"name": "regcred"}])
        self.assertEqual(template["spec"]["containers"][0]["args"][-1], "--log-level=debug")
        self.assertEqual(chart.find(documents, "ServiceAccount")["metadata"]["annotations"], {"c": "d"})


if __name__ == "__main__":
    unittest.main()
