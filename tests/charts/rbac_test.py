"""Every right of the operator stands in one table, and every role is equal to it."""
import unittest

import yaml

import chart

TABLE = yaml.safe_load((chart.ROOT / "manifests/rbac/permissions.yaml").read_text())["permissions"]
SCOPES = {"watched", "cluster", "profiles", "nodes", "own", "probe"}


def rights(rules):
    """Each single right, so that grouping and order do not matter."""
    found = set()
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames", [""]):
                        found.add((group, resource, name, verb))
    return found


def table(*scopes):
    return rights(each["rule"] for each in TABLE if each["scope"] in scopes)


def roles(documents):
    """{(kind, namespace, name): rights} of what is bound to the operator's ServiceAccount."""
    by_reference = {(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]): each["rules"]
                    for each in documents if each["kind"] in ("Role", "ClusterRole")}
    found = {}
    for binding in (each for each in documents if each["kind"] in ("RoleBinding", "ClusterRoleBinding")):
        assert binding["subjects"] == [
            {"kind": "ServiceAccount", "name": "podcache-operator", "namespace": chart.NAMESPACE}]
        key = (binding["roleRef"]["kind"], binding["metadata"].get("namespace"), binding["roleRef"]["name"])
        found[key] = rights(by_reference[key])
    return found


class Permissions(unittest.TestCase):
    def test_table_is_well_formed(self):
        for each in TABLE:
            self.assertEqual(set(each), {"scope", "why", "rule"})
            self.assertIn(each["scope"], SCOPES)

    def test_no_wildcards(self):
        for group, resource, _, verb in table(*SCOPES):
            self.assertNotIn("*", (group, resource, verb))

    def test_cluster_wide(self):
        self.assertEqual(roles(chart.render()), {
            ("ClusterRole", None, "podcache-operator"): table("watched", "cluster", "profiles"),
            ("Role", chart.NAMESPACE, "podcache-operator"): table("own")})

    def test_nodes_only_if_asked_for(self):
        granted = roles(chart.render({"operator.readNodes": True}))
        self.assertEqual(granted[("ClusterRole", None, "podcache-operator")],
                         table("watched", "cluster", "profiles", "nodes"))

    def test_probe_before_1_33(self):
        for version, scopes in (("1.29.0", ("own", "probe")), ("1.32.9-gke.1", ("own", "probe")), ("1.33.0", ("own",))):
            granted = roles(chart.render(kube_version=version))
            self.assertEqual(granted[("Role", chart.NAMESPACE, "podcache-operator")], table(*scopes), version)

    def test_watched_namespaces(self):
        """The webhook configuration is the one cluster-wide right left."""
        self.assertEqual(roles(chart.render({"operator.watchNamespaces": ["a", "b"]})), {
            ("ClusterRole", None, "podcache-operator"): table("cluster"),
            ("Role", chart.NAMESPACE, "podcache-operator"): table("own"),
            ("Role", "a", "podcache-operator-caches"): table("watched"),
            ("Role", "b", "podcache-operator-caches"): table("watched")})

    def test_without_helm(self):
        documents = list(yaml.safe_load_all((chart.ROOT / "manifests/rbac/roles.yaml").read_text()))
        self.assertEqual(roles(documents), roles(chart.render()))

    def test_aggregated_roles(self):
        documents = chart.render()
        view = chart.find(documents, "ClusterRole", "podcache-view")
        self.assertEqual(view["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"], "true")
        self.assertEqual({verb for _, _, _, verb in rights(view["rules"])}, {"get", "list", "watch"})
        edit = chart.find(documents, "ClusterRole", "podcache-edit")
        self.assertEqual(edit["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"], "true")
        # Profiles belong to the platform team; status belongs to the operator.
        self.assertEqual({resource for _, resource, _, _ in rights(edit["rules"])}, {"cachesidecars"})


if __name__ == "__main__":
    unittest.main()
