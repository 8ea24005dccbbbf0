"""The alerts, fed with series that must and must not raise them."""
import subprocess
import tempfile
import unittest

import yaml

import chart

CACHE = 'namespace="shop", pod="web-0", job="shop/web-l1", instance="web-0"'


# alert, severity, {series: values at one a minute}, minute, whether it fires
CASES = [
    ("PodcacheUnreachable", "critical",
     {f"up{{{CACHE}}}": "1x5 0x40", f"podcache_build_info{{{CACHE}}}": "1x5 _x40"}, 30, True),
    ("PodcacheUnreachable", "critical",
     {f"up{{{CACHE}}}": "1x5 0x40", f"podcache_build_info{{{CACHE}}}": "1x5 _x40"}, 15, False),
    # Somebody else's target that is down.
    ("PodcacheUnreachable", "critical", {'up{namespace="shop", pod="db-0", job="db"}': "0x60"}, 50, False),
    ("PodcacheConnectionLimitApproaching", "warning",
     {f"memcached_current_connections{{{CACHE}}}": "850x30", f"memcached_max_connections{{{CACHE}}}": "1000x30"}, 20, True),
    ("PodcacheConnectionLimitApproaching", "critical",
     {f"memcached_current_connections{{{CACHE}}}": "960x30", f"memcached_max_connections{{{CACHE}}}": "1000x30"}, 20, True),
    ("PodcacheConnectionLimitApproaching", "critical",
     {f"memcached_current_connections{{{CACHE}}}": "850x30", f"memcached_max_connections{{{CACHE}}}": "1000x30"}, 20, False),
    ("PodcacheOutOfMemoryErrors", "warning",
     {f'memcached_slab_items_outofmemory_total{{{CACHE}, slab="1"}}': "0+10x40"}, 30, True),
    ("PodcacheOutOfMemoryErrors", "warning",
     {f'memcached_slab_items_outofmemory_total{{{CACHE}, slab="1"}}': "7x40"}, 30, False),
    ("PodcacheResizeStuck", "warning",
     {f"podcache_memory_budget_target_bytes{{{CACHE}}}": "256x30", f"podcache_memory_budget_bytes{{{CACHE}}}": "64x30"},
     20, True),
    ("PodcacheResizeStuck", "warning",
     {f"podcache_memory_budget_target_bytes{{{CACHE}}}": "256x30", f"podcache_memory_budget_bytes{{{CACHE}}}": "64x5 256x25"},
     20, False),
    ("PodcacheMemoryNearCgroupLimit", "warning",
     {f"podcache_resident_memory_bytes{{{CACHE}}}": "98x30", f"podcache_cgroup_memory_limit_bytes{{{CACHE}}}": "100x30"},
     20, True),
    ("PodcacheMemoryNearCgroupLimit", "warning",
     {f"podcache_resident_memory_bytes{{{CACHE}}}": "90x30", f"podcache_cgroup_memory_limit_bytes{{{CACHE}}}": "100x30"},
     20, False),
    ("PodcacheOperatorReconcileErrors", "warning",
     {'controller_runtime_reconcile_errors_total{job="podcache-operator", controller="cachesidecar"}': "0+1x40"}, 30, True),
]


class Alerts(unittest.TestCase):
    def firing(self, alert, severity, series, minute):
        """promtool's word for it: the file expects no such alert, and the answer says what it got instead."""
        test = {"rule_files": [str(chart.CHART / "dashboards/alerts.yaml")], "evaluation_interval": "1m", "tests": [{
            "interval": "1m", "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "alert_rule_test": [{"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": []}]}]}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump(test, file)
            file.flush()
            done = subprocess.run(["promtool", "test", "rules", file.name], capture_output=True, text=True)
        answer = done.stdout + done.stderr
        if done.returncode == 0:
            return False
        self.assertIn("FAILED", answer)
        return f'severity="{severity}"' in answer

    def test_cases(self):
        for alert, severity, series, minute, fires in CASES:
            with self.subTest(alert=alert, severity=severity, minute=minute, series=series):
                self.assertEqual(self.firing(alert, severity, series, minute), fires)

    def test_every_alert_has_a_case(self):
        rules = yaml.safe_load((chart.CHART / "dashboards/alerts.yaml").read_text())["groups"][0]["rules"]
        declared = {(rule["alert"], rule["labels"]["severity"]) for rule in rules}
        self.assertEqual(declared, {(alert, severity) for alert, severity, _, _, fires in CASES if fires})


if __name__ == "__main__":
    unittest.main()
