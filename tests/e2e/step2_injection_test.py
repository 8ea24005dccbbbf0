"""Step 2: labelled pods get the sidecar, keep their QoS class, reach the cache both ways; a Job completes."""
import json

from support import application, audit, install
from support.environment import SHOP
from support.step import Step
from support.waiting import wait_for

LABELS = {"cache": "web-l1"}


class Injection(Step):
    def test_1_deployment_gets_the_sidecar(self):
        install.apply(self.cluster, application.deployment(SHOP, "web", application.container(), LABELS))
        self.cluster.kubectl("rollout", "status", "deployment/web", "-n", SHOP, "--timeout=120s")
        pod = self.env.web.read()
        first = pod["spec"]["initContainers"][0]
        self.assertEqual((first["name"], first["restartPolicy"]), ("podcache", "Always"))
        status = self.env.web.container_status(pod)
        self.assertTrue(status["started"])
        self.assertEqual(status["restartCount"], 0)
        # 64Mi * 1.10 + 64Mi = 134.4Mi
        self.assertEqual(first["resources"]["limits"]["memory"], "135Mi")
        self.assertEqual(self.env.web.cgroup_limit(), 135 * 2**20)

    def test_2_security_is_restricted(self):
        context = self.env.web.read()["spec"]["initContainers"][0]["securityContext"]
        self.assertEqual(context["capabilities"]["drop"], ["ALL"])
        self.assertIs(context["allowPrivilegeEscalation"], False)
        self.assertIs(context["readOnlyRootFilesystem"], True)
        self.assertIs(context["runAsNonRoot"], True)
        with open(f"/proc/{self.env.web.pid}/status") as status:
            fields = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
        self.assertEqual(fields["Uid"].split()[0], "65532")
        self.assertEqual(int(fields["CapEff"], 16), 0)
        self.assertEqual((fields["Seccomp"], fields["NoNewPrivs"]), ("2", "1"))

    def test_3_qos_class_is_unchanged(self):
        self.assertEqual(self.env.web.read()["status"]["qosClass"], "Burstable")
        sized = {"cpu": "100m", "memory": "64Mi"}
        app = application.container("-workers=0", "-items=0", resources={"requests": sized, "limits": sized})
        install.apply(self.cluster, {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "guaranteed", "namespace": SHOP, "labels": {"podcache.dev/inject": "true", **LABELS}},
            "spec": {"containers": [app], "terminationGracePeriodSeconds": 5}})
        self.cluster.kubectl("wait", "pod/guaranteed", "-n", SHOP, "--for=condition=Ready", "--timeout=60s")
        pod = install.get(self.cluster, "pod", "guaranteed", "-n", SHOP)
        self.assertEqual(pod["status"]["qosClass"], "Guaranteed")
        resources = pod["spec"]["initContainers"][0]["resources"]
        self.assertEqual(resources["requests"], resources["limits"])
        self.cluster.kubectl("delete", "pod", "guaranteed", "-n", SHOP, "--wait=true")

    def test_4_pods_without_the_label_are_left_alone(self):
        plain = application.deployment(SHOP, "plain", application.container("-workers=0"))
        del plain["spec"]["template"]["metadata"]["labels"]["podcache.dev/inject"]
        plain["spec"]["template"]["metadata"]["labels"].update(LABELS)
        install.apply(self.cluster, plain)
        pods = wait_for("pod of the unlabelled deployment", lambda: install.items(
            self.cluster, "pods", "-n", SHOP, "-l", "app=plain"), 20)
        self.assertNotIn("initContainers", pods[0]["spec"])
        self.cluster.kubectl("delete", "deployment", "plain", "-n", SHOP)

    def test_5_job_uses_loopback_and_socket_and_completes(self):
        app = application.container(f"-servers=127.0.0.1:11211,{application.SOCKET}", "-once", "-items=1000")
        install.apply(self.cluster, application.job(SHOP, "report", app, LABELS))
        self.cluster.kubectl("wait", "job/report", "-n", SHOP, "--for=condition=Complete", "--timeout=60s")
        pod = install.items(self.cluster, "pods", "-n", SHOP, "-l", "job-name=report")[0]
        self.assertEqual(pod["status"]["phase"], "Succeeded")
        cache = pod["status"]["initContainerStatuses"][0]["state"]["terminated"]
        work = pod["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual((cache["exitCode"], work["exitCode"]), (0, 0))
        stopped = audit.parse_time(cache["finishedAt"]) - audit.parse_time(work["finishedAt"])
        self.assertTrue(0 <= stopped <= 3, f"the sidecar ended {stopped} s after the app (whole seconds)")
        log = self.cluster.kubectl("logs", "job/report", "-n", SHOP, "-c", "app").stdout
        for address in ("127.0.0.1:11211", application.SOCKET):
            self.assertIn(f"{address}: 1000 stored, 1000 hits, 0 misses, 0 wrong, 0 errors", log)

    def test_6_status_counts_the_pods(self):
        def counted():
            status = self.env.cache_sidecar()["status"]
            return (status["matchedPods"], status["injectedPods"], status["resizedPods"]) == (1, 1, 1)

        wait_for("status of one pod", counted, 30, on_timeout=lambda: json.dumps(self.env.cache_sidecar()["status"]))
