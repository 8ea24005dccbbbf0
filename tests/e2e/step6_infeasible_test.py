"""Step 6: a request above the node's size is shown as Infeasible and leaves the cache alone; taking it back heals."""
import json
import time

from support import audit, install
from support.environment import MIB, SHOP
from support.step import Step
from support.waiting import stays, wait_for


class Infeasible(Step):
    def resizing(self):
        return install.condition(self.env.cache_sidecar(), "Resizing")

    def test_1_shown_and_the_cache_untouched(self):
        node = install.get(self.cluster, "node", "node1")["status"]["allocatable"]["memory"]
        self.assertLess(int(node.removesuffix("Ki")) * 1024, 4096 * 1024 * MIB, "the node has less than 4Ti")
        since = time.time()
        self.env.patch_sidecar({"memory": {"size": "4Ti"}})
        wait_for("Infeasible", lambda: self.resizing().get("reason") == "Infeasible", 60,
                 on_timeout=lambda: json.dumps(self.env.cache_sidecar()["status"], indent=1))
        self.env.record("step6_infeasible_shown_seconds", time.time() - since)
        self.assertEqual(self.resizing()["status"], "False")
        pods = self.env.cache_sidecar()["status"]["pods"]
        self.assertEqual([(each["name"], each["state"]) for each in pods], [(self.env.web.pod, "Infeasible")])

        def untouched():
            return (int(self.env.app.stats()["limit_maxbytes"]), self.env.web.cgroup_limit()) == (96 * MIB, 170 * MIB)

        stays("cache of 96Mi in 170Mi", untouched, 5)
        self.assertEqual(len(audit.resizes(self.cluster, SHOP, self.env.web.pod, since)), 1, "one attempt, no retry storm")
        self.assert_no_harm()

    def test_2_taking_it_back(self):
        self.env.patch_sidecar({"memory": {"size": "96Mi"}})
        self.env.wait_until_sized(96 * MIB, 2)
        self.assertEqual(self.env.web.read()["spec"]["initContainers"][0]["resources"]["limits"]["memory"], "170Mi")
        self.assert_no_harm()
