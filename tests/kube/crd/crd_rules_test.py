"""The CRDs on a real API server: each of their rules with objects that it takes and objects that it refuses."""
import copy
import pathlib
import sys
import unittest

import yaml

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1])]
import cases  # noqa: E402
from api_server import BASE, CRD_FOLDER, ApiError, ApiServer, collection, crds, merged, wait_for  # noqa: E402


def setUpModule():
    global SERVER
    SERVER = ApiServer()
    for crd in crds().values():
        SERVER.install_crd(crd)


def with_patch(plural, patch):
    return merged(BASE[plural], patch if "metadata" in patch else {"spec": patch})


def create(plural, patch, dry_run=True):
    query = {"dryRun": "All"} if dry_run else {}
    return SERVER.request("POST", collection(plural), with_patch(plural, patch), fieldValidation="Strict", **query)


def rules_of(node, path=""):
    """(path, message) of every rule in a schema."""
    for rule in node.get("x-kubernetes-validations", []):
        yield path, rule["message"]
    for key, value in node.get("properties", {}).items():
        yield from rules_of(value, f"{path}.{key}" if path else key)
    if "items" in node:
        yield from rules_of(node["items"], path + "[]")


class Rules(unittest.TestCase):
    def test_every_rule_has_its_cases(self):
        declared = {(plural, path, message) for plural, crd in crds().items()
                    for path, message in rules_of(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])}
        self.assertEqual(declared, set(cases.CASES))
        for accepted, refused in cases.CASES.values():
            self.assertTrue(accepted and refused)

    def test_accepts(self):
        for (plural, path, message), (accepted, _) in cases.CASES.items():
            for patch in accepted:
                with self.subTest(plural=plural, path=path, rule=message, patch=patch):
                    create(plural, patch)

    def test_refuses(self):
        for (plural, path, message), (_, refused) in cases.CASES.items():
            for patch in refused:
                with self.subTest(plural=plural, path=path, rule=message, patch=patch):
                    with self.assertRaises(ApiError) as raised:
                        create(plural, patch)
                    self.assertEqual(raised.exception.code, 422)
                    said = [text for _, text in raised.exception.causes()]
                    self.assertTrue(any(text.endswith(message) for text in said), said)

    def test_one_error_for_a_malformed_quantity(self):
        """quantity() of such a string would add an error of its own that nobody can read."""
        with self.assertRaises(ApiError) as raised:
            create("cachesidecars", {"memory": {"size": "1GB", "maxItemSize": "1MB"},
                                     "resources": {"memory": {"limit": "1GB"}}})
        for field, text in raised.exception.causes():
            self.assertNotIn("evaluating rule", text, field)

    def test_k01_names_field_and_rule(self):
        with self.assertRaises(ApiError) as raised:
            create("cachesidecars", {"memory": {"size": "1Gi"}, "resources": {"memory": {"limit": "1Gi"}}})
        self.assertEqual(raised.exception.code, 422)
        self.assertEqual([field for field, _ in raised.exception.causes()], ["spec"])
        self.assertIn("size*1.05 + 32Mi", raised.exception.status["message"])


class Schema(unittest.TestCase):
    def test_refuses(self):
        for plural, patch, field, text in cases.REFUSED_BY_SCHEMA:
            with self.subTest(plural=plural, patch=patch):
                with self.assertRaises(ApiError) as raised:
                    create(plural, patch)
                self.assertEqual(raised.exception.code, 422)
                said = raised.exception.causes()
                self.assertTrue(any(name == field and text in message for name, message in said), said)

    def test_unknown_fields_are_refused_when_asked(self):
        with self.assertRaises(ApiError) as raised:
            create("cachesidecars", {"novelty": 1})
        self.assertIn('unknown field "spec.novelty"', str(raised.exception))

    def test_defaults(self):
        self.assertEqual(create("cachesidecars", {})["spec"], {
            "selector": {"matchLabels": {"app": "web"}}, "memory": {"size": "256Mi", "maxItemSize": "1Mi"},
            "threads": {"mode": "Auto"}, "maxConnections": 4096, "qos": "Preserve",
            "resize": {"mode": "InPlace", "deferredTimeout": "5m"}, "updateRunningPods": True,
            "listen": {"loopback": True, "port": 11211,
                       "unixSocket": {"enabled": False, "mountPath": "/var/run/podcache"}}})
        self.assertEqual(create("cacheprofiles", {})["spec"]["rules"], [{
            "name": "any", "threads": {"perCPUPercent": 50, "min": 1, "max": 16},
            "memory": {"overheadPercent": 25, "overheadFixed": "128Mi"}}])

    def test_partial_objects_get_the_other_defaults(self):
        spec = create("cachesidecars", {"threads": {"count": 2}, "resize": {"mode": "InPlaceOrRecreate"},
                                        "listen": {"unixSocket": {"enabled": True}}})["spec"]
        self.assertEqual(spec["threads"], {"mode": "Auto", "count": 2})
        self.assertEqual(spec["resize"], {"mode": "InPlaceOrRecreate", "deferredTimeout": "5m"})
        self.assertEqual(spec["listen"], {"loopback": True, "port": 11211,
                                          "unixSocket": {"enabled": True, "mountPath": "/var/run/podcache"}})

    def test_structural_and_named(self):
        for crd in crds().values():
            name = crd["metadata"]["name"]
            self.assertIsNone(SERVER.condition_of_crd(name, "NonStructuralSchema"))
            self.assertEqual(SERVER.condition_of_crd(name, "NamesAccepted")["status"], "True")

    def test_samples_are_accepted(self):
        for path in sorted((CRD_FOLDER.parent / "samples").glob("cache_*.yaml")):
            sample = yaml.safe_load(path.read_text())
            plural = {"CacheSidecar": "cachesidecars", "CacheProfile": "cacheprofiles"}[sample["kind"]]
            with self.subTest(sample=path.name):
                SERVER.request("POST", collection(plural), sample, fieldValidation="Strict", dryRun="All")


class Serving(unittest.TestCase):
    def columns(self, plural):
        table = SERVER.request("GET", collection(plural),
                               accept="application/json;as=Table;v=v1;g=meta.k8s.io")
        return [(each["name"], each["priority"]) for each in table["columnDefinitions"]]

    def test_columns(self):
        self.assertEqual(self.columns("cachesidecars"), [
            ("Name", 0), ("Matched", 0), ("Injected", 0), ("Pending", 0), ("Memory", 0), ("Resizing", 1), ("Age", 0)])
        self.assertEqual(self.columns("cacheprofiles"), [("Name", 0), ("Rules", 0), ("Used By", 0), ("Age", 0)])

    def test_discovery(self):
        found = {each["name"]: each for each in SERVER.request("GET", "/apis/podcache.dev/v1alpha1")["resources"]}
        self.assertEqual(set(found), {"cachesidecars", "cachesidecars/status", "cacheprofiles", "cacheprofiles/status"})
        self.assertEqual((found["cachesidecars"]["shortNames"], found["cachesidecars"]["categories"]),
                         (["csc"], ["podcache", "all"]))
        self.assertEqual((found["cacheprofiles"]["shortNames"], found["cacheprofiles"]["categories"]),
                         (["cprof"], ["podcache"]))
        self.assertTrue(found["cachesidecars"]["namespaced"])
        self.assertFalse(found["cacheprofiles"]["namespaced"])


class Stored(unittest.TestCase):
    def tearDown(self):
        for name in ("status-test", "old-object"):
            try:
                SERVER.request("DELETE", f"{collection('cachesidecars')}/{name}")
            except ApiError as error:
                self.assertEqual(error.code, 404)

    def test_status_is_apart_and_its_conditions_are_a_map(self):
        path = f"{collection('cachesidecars')}/status-test"
        create("cachesidecars", {"metadata": {"name": "status-test"}, "status": {"matchedPods": 7}}, dry_run=False)
        self.assertNotIn("status", SERVER.request("GET", path))

        def condition(kind, **more):
            return {"type": kind, "status": "True", "reason": "Idle", "message": "",
                    "lastTransitionTime": "2026-11-30T10:00:00Z", **more}

        def apply(status):
            return SERVER.apply(f"{path}/status", {
                "apiVersion": "podcache.dev/v1alpha1", "kind": "CacheSidecar", "status": status})["status"]

        self.assertEqual(apply({"matchedPods": 1, "pods": [{"name": "web-1", "state": "Deferred"}],
                                "conditions": [condition("Ready"), condition("Resizing", observedGeneration=1)]}),
                         {"matchedPods": 1, "pods": [{"name": "web-1", "state": "Deferred"}],
                          "conditions": [condition("Ready"), condition("Resizing", observedGeneration=1)]})
        # What is not applied any more goes.
        self.assertEqual(apply({"matchedPods": 0, "conditions": [condition("Ready")]}),
                         {"matchedPods": 0, "conditions": [condition("Ready")]})
        with self.assertRaises(ApiError) as raised:
            apply({"conditions": [condition("Ready"), condition("Ready")]})
        self.assertIn("duplicate", str(raised.exception).lower())

    def test_an_object_from_before_a_rule_still_gets_its_status(self):
        crd = crds()["cachesidecars"]
        older = copy.deepcopy(crd)
        schema = older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        del schema["properties"]["spec"]["x-kubernetes-validations"]
        tight = {"metadata": {"name": "old-object"}, "spec": {"resources": {"memory": {"limit": "256Mi"}}}}

        def accepted():
            try:
                create("cachesidecars", tight)
            except ApiError:
                return False
            return True

        try:
            SERVER.install_crd(older)
            wait_for("the older CRD is in force", accepted)
            create("cachesidecars", tight, dry_run=False)
        finally:
            SERVER.install_crd(crd)
        wait_for("the CRD is in force again", lambda: not accepted())
        path = f"{collection('cachesidecars')}/old-object"
        SERVER.apply(f"{path}/status", {"apiVersion": "podcache.dev/v1alpha1", "kind": "CacheSidecar",
                                        "status": {"matchedPods": 3}})
        # Its owner can still change what has nothing to do with the rule's fields.
        SERVER.request("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, "application/merge-patch+json")


if __name__ == "__main__":
    unittest.main()
