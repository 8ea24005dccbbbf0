"""Step 7: Debian's Prometheus scrapes the pod; the dashboard's queries answer, with the right numbers."""
import json
import re

from support import install
from support.environment import MIB, SHOP
from support.prometheus import Prometheus
from support.step import Step
from support.waiting import wait_for


def dashboard_queries():
    """Every expression of the chart's dashboards, with their variables filled in."""
    values = {"__rate_interval": "30s", "__interval": "30s", "__range": "30s", "interval": "30s", "job": "podcache",
              "namespace": SHOP}
    found = []
    for path in sorted((install.CHART / "dashboards").glob("*.json")):
        for match in re.finditer(r'"expr":\s*("(?:[^"\\]|\\.)*")', path.read_text()):
            expression = json.loads(match.group(1))
            # Any other variable selects something: let it select all.
            found.append(re.sub(r"\$\{?(\w+)(?::\w+)?\}?", lambda name: values.get(name.group(1), ".*"), expression))
    return found


class Scrape(Step):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        operators = install.items(cls.cluster, "pods", "-n", install.NAMESPACE, "-l",
                                "app.kubernetes.io/name=podcache-operator")
        cls.prometheus = Prometheus(cls.cluster, {
            "podcache": [(f"{cls.env.web.address}:9150", {"namespace": SHOP, "pod": cls.env.web.pod})],
            "podcache-operator": [(f"{each['status']['podIP']}:8080", {"namespace": install.NAMESPACE})
                                  for each in operators]})
        cls.prometheus.start()
        cls.selector = f'{{namespace="{SHOP}",pod="{cls.env.web.pod}"}}'

    @classmethod
    def tearDownClass(cls):
        cls.prometheus.stop()

    def test_1_up(self):
        wait_for("scrape", lambda: self.prometheus.value(f"up{self.selector}") == 1, 30)
        self.assertEqual(self.prometheus.value(f"memcached_up{self.selector}"), 1)

    def test_2_memory(self):
        self.assertEqual(self.prometheus.value(f"memcached_limit_bytes{self.selector}"), 96 * MIB)
        self.assertEqual(self.prometheus.value(f"podcache_cgroup_memory_limit_bytes{self.selector}"), 170 * MIB)
        resident = self.prometheus.value(f"podcache_resident_memory_bytes{self.selector}")
        # The kernel's own figure, moments later; the load moves it a little.
        self.assertAlmostEqual(resident / MIB, self.env.web.resident() / MIB, delta=4)

    def test_3_hit_rate(self):
        """Hits over gets since the start, from Prometheus, against the cache's own counts around that scrape."""
        def ratio(stats):
            return int(stats["get_hits"]) / int(stats["cmd_get"])

        before = ratio(self.env.app.stats())
        hits = f'sum(memcached_commands_total{{namespace="{SHOP}",command="get",status="hit"}})'
        gets = f'sum(memcached_commands_total{{namespace="{SHOP}",command="get"}})'
        wait_for("two scrapes", lambda: self.prometheus.value(f"count_over_time(up{self.selector}[1m])") >= 3, 20)
        value = self.prometheus.value(f"{hits} / {gets}")
        after = ratio(self.env.app.stats())
        self.assertTrue(min(before, after) - 0.001 <= value <= max(before, after) + 0.001, (before, value, after))
        self.env.record("step7_hit_ratio", value)

    def test_4_every_query_of_the_dashboard_answers(self):
        queries = dashboard_queries()
        self.assertGreater(len(queries), 5, "the chart has a dashboard")
        # Rates need two scrapes within their window.
        wait_for("scrapes", lambda: (self.prometheus.value(f"count_over_time(up{self.selector}[1m])") or 0) >= 10, 30)
        empty = [each for each in queries if not self.prometheus.query(each)]
        self.assertEqual(empty, [])
