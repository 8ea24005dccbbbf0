"""values.yaml, its comments and its schema."""
import json
import re
import unittest

import yaml

import chart

SCHEMA = json.loads((chart.CHART / "values.schema.json").read_text())
VALUES_TEXT = (chart.CHART / "values.yaml").read_text()
VALUES = yaml.safe_load(VALUES_TEXT)

REFUSED = [
    ("novelty", 1, "novelty"),
    ("operator.novelty", 1, "novelty"),
    ("image.novelty", 1, "novelty"),
    ("crds.enabled", "yes", "boolean"),
    ("image.registry", "", "registry"),
    ("image.registry", "registry.example/", "registry"),
    ("image.tag", "a b", "tag"),
    ("image.pullPolicy", "Sometimes", "pullPolicy"),
    ("image.pullSecrets", ["UPPER"], "pullSecrets"),
    ("operator.replicas", 0, "replicas"),
    ("operator.replicas", "two", "replicas"),
    ("operator.watchNamespaces", "shop", "watchNamespaces"),
    ("operator.watchNamespaces", ["a", "a"], "watchNamespaces"),
    ("operator.maxConcurrentResizes", 0, "maxConcurrentResizes"),
    ("operator.logLevel", "loud", "logLevel"),
    ("operator.logLevel", "warn", "logLevel"),
    ("operator.resources", {"cpu": "1"}, "cpu"),
    ("operator.podLabels", {"a": 1}, "podLabels"),
    ("webhook.excludedNamespaces", [1], "excludedNamespaces"),
    ("monitoring.podMonitor.interval", "often", "interval"),
    ("monitoring.dashboard.labels", ["a"], "labels"),
    ("networkPolicy.enabled", 1, "boolean"),
]


def resolve(schema):
    if "$ref" in schema:
        return SCHEMA["definitions"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def walk(values, schema, path=()):
    """(path, value, schema) of every value that the chart has."""
    for key, value in values.items():
        here = resolve(schema.get("properties", {}).get(key, {}))
        yield (*path, key), value, here
        if isinstance(value, dict) and "properties" in here:
            yield from walk(value, here, (*path, key))


class Schema(unittest.TestCase):
    def test_covers_every_value(self):
        for path, _, schema in walk(VALUES, SCHEMA):
            self.assertTrue(schema, f"{'.'.join(path)} is not in the schema")

    def test_has_nothing_but_values(self):
        def check(schema, values, path):
            for key, inner in schema.get("properties", {}).items():
                if (*path, key) == ("global",) or path[:2] == ("operator", "resources"):
                    continue
                self.assertIn(key, values, f"{'.'.join((*path, key))} is in the schema only")
                if isinstance(values[key], dict):
                    check(resolve(inner), values[key], (*path, key))
        check(SCHEMA, VALUES, ())

    def test_is_closed(self):
        for path, value, schema in walk(VALUES, SCHEMA):
            if "properties" in schema:
                self.assertIs(schema.get("additionalProperties"), False, ".".join(path))
        self.assertIs(SCHEMA["additionalProperties"], False)

    def test_refuses(self):
        for path, value, named in REFUSED:
            with self.subTest(path=path, value=value):
                with self.assertRaisesRegex(chart.Refused, named):
                    chart.render({path: value})


class Documentation(unittest.TestCase):
    def test_every_value_has_a_comment(self):
        lines = VALUES_TEXT.splitlines()
        for number, line in enumerate(lines):
            key = re.match(r"( *)([A-Za-z]+):( .*)?$", line)
            if not key or len(key[1]) > 4:
                continue
            if not key[3] and not key[1]:
                continue  # a top-level group says what it is about only where its parts do not
            if len(key[1]) == 4 and not line.strip().startswith(("enabled", "interval", "labels", "folder")):
                continue  # an example of resources
            before = lines[number - 1].strip()
            parent_is_documented = line.strip().startswith("enabled:") and before.endswith(":")
            self.assertTrue(before.startswith("#") or parent_is_documented, f"line {number + 1} has no comment: {line}")


if __name__ == "__main__":
    unittest.main()
