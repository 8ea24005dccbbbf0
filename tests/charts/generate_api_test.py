"""What the generator refuses: a CRD must not become C++ that means something else."""
import copy
import pathlib
import sys
import tempfile
import unittest

import yaml

import chart

sys.path.insert(0, str(chart.ROOT / "tools/generate_api"))
import cpp  # noqa: E402
import model  # noqa: E402


def load(plural, change=lambda spec: None):
    """The kind after a change of its spec's schema."""
    crd = copy.deepcopy(chart.crds()[plural])
    change(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"])
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "crd.yaml"
        path.write_text(yaml.safe_dump(crd))
        return model.load_kind(path)


class Refuses(unittest.TestCase):
    def refuses(self, text, change, plural="cachesidecars"):
        with self.assertRaisesRegex((model.SchemaError, KeyError), text):
            cpp.files([load(plural, change), load("cacheprofiles" if plural == "cachesidecars" else "cachesidecars")])

    def test_string_without_limit(self):
        self.refuses("spec.image: maxLength", lambda spec: spec["image"].pop("maxLength"))

    def test_list_without_limit(self):
        self.refuses("spec.extraArgs: maxItems", lambda spec: spec["extraArgs"].pop("maxItems"))

    def test_integer_without_minimum(self):
        self.refuses("spec.maxConnections: minimum", lambda spec: spec["maxConnections"].pop("minimum"))

    def test_object_without_name(self):
        self.refuses("spec.novelty", lambda spec: spec.update(novelty={"type": "object", "properties": {}}))

    def test_list_of_numbers(self):
        self.refuses("objects or strings", lambda spec: spec["extraArgs"].update(items={"type": "integer"}))

    def test_shared_block_that_differs(self):
        def change(spec):
            spec["sizing"]["properties"]["rules"]["items"]["properties"]["threads"]["properties"]["max"]["maximum"] = 64
        self.refuses("SizingThreads of CacheProfile differs", change)

    def test_default_of_an_object_that_differs_from_its_members(self):
        self.refuses("default of port differs", lambda spec: spec["listen"]["default"].update(port=1))


class Writes(unittest.TestCase):
    def test_every_struct_once(self):
        text = "".join(cpp.files([load("cacheprofiles"), load("cachesidecars")]).values())
        for name in ("SizingRule", "Condition", "CacheSidecarSpec", "CacheProfileStatus"):
            self.assertEqual(text.count(f"\nstruct {name} {{"), 1)

    def test_quantities_of_defaults(self):
        self.assertEqual(cpp.parse_bytes("128Mi"), 134217728)
        self.assertEqual(cpp.parse_bytes("1024"), 1024)
        self.assertEqual(cpp.parse_duration_ms("5m"), 300000)

    def test_names(self):
        self.assertEqual([model.snake_case(name) for name in ("maxItemSize", "perCPUPercent", "listen", "nodeSelector")],
                         ["max_item_size", "per_cpu_percent", "listen", "node_selector"])


if __name__ == "__main__":
    unittest.main()
