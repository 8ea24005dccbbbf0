"""Artefacts that must agree with each other: CRDs, what is made from them, names, flags, metrics."""
import json
import os
import pwd
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import yaml

import chart

# A CRD above this cannot be applied by client-side apply, which keeps a copy of it in an annotation.
ANNOTATION_LIMIT = 262144


class Drift(unittest.TestCase):
    def run_tool(self, *command):
        done = subprocess.run([sys.executable, *map(str, command)], cwd=chart.ROOT, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_docs_and_chart_follow_the_crds(self):
        self.run_tool("-B", "tools/generate_api", "check")

    def test_manifests_follow_the_chart(self):
        self.run_tool("tools/generate_manifests", "check")

    def test_chart_renders_the_crds_themselves(self):
        rendered = {each["spec"]["names"]["plural"]: each["spec"] for each in chart.render()
                    if each["kind"] == "CustomResourceDefinition"}
        self.assertEqual(rendered, {plural: crd["spec"] for plural, crd in chart.crds().items()})


def schemas(node, path=""):
    """(path, schema) of every schema in a schema."""
    yield path, node
    for key, value in node.get("properties", {}).items():
        yield from schemas(value, f"{path}.{key}")
    if "items" in node:
        yield from schemas(node["items"], path + "[]")
    if isinstance(node.get("additionalProperties"), dict):
        yield from schemas(node["additionalProperties"], path + "{}")


class CustomResources(unittest.TestCase):
    def each_schema(self):
        for plural, crd in chart.crds().items():
            root = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
            for part in ("spec", "status"):
                for path, schema in schemas(root["properties"][part], f"{plural}.{part}"):
                    yield path, schema

    def test_are_small(self):
        for plural, crd in chart.crds().items():
            self.assertLess(len(json.dumps(crd)), ANNOTATION_LIMIT // 4, plural)

    def test_everything_has_a_limit(self):
        for path, schema in self.each_schema():
            if schema["type"] == "string":
                self.assertTrue("maxLength" in schema or "enum" in schema, path)
            if schema["type"] == "array":
                self.assertIn("maxItems", schema, path)
                self.assertIn("x-kubernetes-list-type", schema, path)
            if "additionalProperties" in schema:
                self.assertIn("maxProperties", schema, path)
            if schema["type"] == "integer":
                self.assertIn("minimum", schema, path)
                if ".status" not in path:
                    self.assertIn("maximum", schema, path)

    def test_quantities_are_plain_strings(self):
        for path, schema in self.each_schema():
            self.assertNotIn("x-kubernetes-int-or-string", schema, path)

    def test_memory_strings_are_bounded(self):
        memory = r"^[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|k|M|G|T)?$"
        found = [(path, schema) for path, schema in self.each_schema() if schema.get("pattern") == memory]
        self.assertGreater(len(found), 5)
        for path, schema in found:
            self.assertEqual(schema["maxLength"], 24, path)
            messages = [rule["message"] for rule in schema["x-kubernetes-validations"]]
            expected = "must be 4Ki, 16Ki or 64Ki" if path.endswith("pageSize") else "must be above 0 and at most 64Ti"
            self.assertIn(expected, messages, path)

    def test_rules_that_compare_quantities_are_guarded(self):
        """Without the guard a malformed string brings a second, unreadable error beside the pattern's."""
        for path, schema in self.each_schema():
            for rule in schema.get("x-kubernetes-validations", []):
                if "quantity(self" in rule["rule"]:
                    self.assertIn("isQuantity(", rule["rule"], path)

    def test_everything_is_described(self):
        for path, schema in self.each_schema():
            if not path.endswith(("[]", "{}")):
                self.assertTrue(schema.get("description"), path)

    def test_conditions_are_a_map_by_type(self):
        for path, schema in self.each_schema():
            if path.endswith(".conditions"):
                self.assertEqual(schema["x-kubernetes-list-type"], "map")
                self.assertEqual(schema["x-kubernetes-list-map-keys"], ["type"])

    def test_names_and_categories(self):
        names = {plural: crd["spec"]["names"] for plural, crd in chart.crds().items()}
        self.assertEqual((names["cachesidecars"]["shortNames"], names["cachesidecars"]["categories"]),
                         (["csc"], ["podcache", "all"]))
        self.assertEqual((names["cacheprofiles"]["shortNames"], names["cacheprofiles"]["categories"]),
                         (["cprof"], ["podcache"]))


class Names(unittest.TestCase):
    def test_chart_uses_the_names_of_the_contract(self):
        header = (chart.ROOT / "operator/resources/names.h").read_text()
        constants = dict(re.findall(r'(k\w+)\s*=\s*"([^"]+)"', header))
        documents = chart.render(api_versions=[chart.POD_MONITOR])
        for kind in ("Deployment", "ServiceAccount", "Lease"):
            self.assertEqual(chart.find(documents, kind)["metadata"]["name"], constants["kOperatorName"])
        self.assertEqual(chart.find(documents, "Secret")["metadata"]["name"], constants["kCertificateSecretName"])
        self.assertEqual(chart.find(documents, "Service")["metadata"]["name"], constants["kWebhookServiceName"])
        webhook = chart.find(documents, "MutatingWebhookConfiguration")
        self.assertEqual(webhook["metadata"]["name"], constants["kWebhookConfigurationName"])
        self.assertEqual([each["name"] for each in webhook["webhooks"]],
                         [constants["kInjectWebhook"], constants["kInjectRequiredWebhook"]])
        entry = webhook["webhooks"][0]
        self.assertEqual(entry["clientConfig"]["service"]["path"], constants["kWebhookPath"])
        self.assertEqual(entry["objectSelector"]["matchExpressions"][0]["key"], constants["kInjectLabel"])
        monitor = chart.find(documents, "PodMonitor", "podcache-caches")["spec"]
        self.assertEqual(monitor["selector"]["matchExpressions"][0]["key"], constants["kSidecarLabel"])
        self.assertEqual(monitor["podMetricsEndpoints"][0]["port"], constants["kMetricsPortName"])


class Flags(unittest.TestCase):
    def test_every_flag_of_the_deployment_exists(self):
        program = chart.BIN / "podcache-operator"
        if not program.exists():
            self.skipTest(f"{program} is not built")
        known = subprocess.run([program, "--help"], check=True, capture_output=True, text=True).stdout
        documents = chart.render({"operator.watchNamespaces": ["a"], "operator.readNodes": True})
        for argument in chart.find(documents, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]:
            self.assertRegex(known, rf"(?m)(^|[\s,]){re.escape(argument.split('=')[0])}\b")


class Dashboard(unittest.TestCase):
    def setUp(self):
        config_map = chart.find(chart.render(), "ConfigMap")
        self.assertEqual(config_map["metadata"]["labels"]["grafana_dashboard"], "1")
        self.assertIn("grafana_folder", config_map["metadata"]["annotations"])
        self.dashboard = json.loads(config_map["data"]["podcache.json"])

    def expressions(self):
        for panel in self.dashboard["panels"]:
            for target in panel.get("targets", []):
                yield panel["title"], target["expr"]

    def alerts(self):
        for group in yaml.safe_load((chart.CHART / "dashboards/alerts.yaml").read_text())["groups"]:
            for rule in group["rules"]:
                yield rule["alert"], rule["expr"]

    def metric_names(self):
        for _, expression in [*self.expressions(), *self.alerts()]:
            yield from re.findall(r"\b((?:memcached|podcache|controller_runtime|workqueue)_\w+)", expression)

    def test_panels_are_apart(self):
        identities = [panel["id"] for panel in self.dashboard["panels"]]
        self.assertEqual(len(identities), len(set(identities)))
        taken = set()
        for panel in self.dashboard["panels"]:
            place = panel["gridPos"]
            for x in range(place["x"], place["x"] + place["w"]):
                for y in range(place["y"], place["y"] + place["h"]):
                    self.assertNotIn((x, y), taken, panel["title"])
                    self.assertLess(x, 24)
                    taken.add((x, y))

    def test_variables_come_from_memcached_commands_total(self):
        variables = {each["name"]: each for each in self.dashboard["templating"]["list"]}
        self.assertEqual(list(variables), ["datasource", "cluster", "namespace", "job", "instance"])
        for name in ("cluster", "namespace", "job", "instance"):
            self.assertIn("memcached_commands_total", variables[name]["definition"])

    def test_expressions_are_promql(self):
        rules = {"groups": [{"name": "dashboard", "rules": [
            {"record": f"panel:{number}", "expr": expression.replace("$__rate_interval", "5m")}
            for number, (_, expression) in enumerate(self.expressions())]}]}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump(rules, file)
            file.flush()
            done = subprocess.run(["promtool", "check", "rules", file.name], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_covers_the_mixin(self):
        """The panels of memcached-mixin's overview, by their series."""
        text = " ".join(expression for _, expression in self.expressions())
        for name in ("commands_total", "current_connections", "max_connections", "items_evicted_total", "items_total",
                     "process_user_cpu_seconds_total", "process_system_cpu_seconds_total", "current_bytes", "current_items",
                     "connections_total", "read_bytes_total", "written_bytes_total", "version", "uptime_seconds"):
            self.assertIn(f"memcached_{name}", text)

    def test_operator_metrics_exist(self):
        sources = "".join(path.read_text() for path in (chart.ROOT / "operator").rglob("*.cc"))
        declared = set(re.findall(r'"((?:controller_runtime|workqueue|podcache_operator)_\w+)"', sources))
        used = {name for name in self.metric_names()
                if name.startswith(("controller_runtime_", "workqueue_", "podcache_operator_"))}
        self.assertLessEqual(used, declared)

    def test_server_metrics_exist(self):
        program = chart.BIN / "podcached"
        if not program.exists():
            self.skipTest(f"{program} is not built")
        names = served_metrics(program)
        # Absent where the cgroup sets no limit.
        names |= {"podcache_cgroup_memory_limit_bytes", "podcache_cgroup_cpu_throttled_seconds_total"}
        used = {name for name in self.metric_names()
                if name.startswith(("memcached_", "podcache_")) and not name.startswith("podcache_operator_")}
        self.assertLessEqual(used, names)


def served_metrics(program):
    """Names of the series that a fresh server shows."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    user = pwd.getpwuid(os.getuid()).pw_name
    command = [program, "-u", user, "--loopback", "-p", "-1", "-m", "64", f"--http-listen=127.0.0.1:{port}", "--admin-listen=off"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 10
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=2) as reply:
                    return set(re.findall(r"(?m)^([a-z_]+)[{ ]", reply.read().decode()))
            except OSError:
                if time.monotonic() > deadline or server.poll() is not None:
                    raise AssertionError(f"podcached does not serve /metrics, exit code {server.poll()}") from None
                time.sleep(0.05)
    finally:
        server.terminate()
        server.wait(10)


if __name__ == "__main__":
    unittest.main()
