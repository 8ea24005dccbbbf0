"""Where the demonstration plays: a cluster of its own, or one that kubectl reaches already."""
import json
import os
import shutil
import subprocess

from cluster_lib import binaries
from cluster_lib.cluster import Cluster
from support import application, install

NAMESPACE = "podcache-demo"


def say(text):
    print(f"\n\033[1m== {text}\033[0m", flush=True)


def note(text):
    print(f"   {text}", flush=True)


class OwnCluster:
    """A one-node cluster in the cache folder, in a network namespace of its own."""

    prefix = "localhost"

    def __init__(self):
        self._cluster = Cluster(binaries.cache_folder() / "demo")
        self.kubectl, self.helm = self._cluster.kubectl, self._cluster.helm

    def prepare(self):
        say("A real one-node Kubernetes cluster")
        binaries.ensure()
        if self._cluster.running():
            note("runs already")
        else:
            self._cluster.up(progress=note)
        version = json.loads(self.kubectl("version", "-o", "json").stdout)["serverVersion"]["gitVersion"]
        note(f"Kubernetes {version}, node Ready")
        install.load_images(self._cluster)
        self._cluster.load_image(application.build_image())
        note("images of podcached, podcache-operator and the sample app loaded")

    def leave(self):
        state = self._cluster.state
        ctl = install.TOP / "build" / "release" / "bin" / "podcachectl"
        plugin = state / "bin" / "kubectl-podcache"
        plugin.unlink(missing_ok=True)
        plugin.symlink_to(ctl)
        leave_hints(f"export PATH={state}/bin:$PATH", "tools/demo --down")

    def remove(self):
        self._cluster.down()
        shutil.rmtree(self._cluster.state, ignore_errors=True)


class ExistingCluster:
    """What the user's kubectl reaches. Only what the demonstration itself installed is removed again."""

    def __init__(self):
        self.prefix = os.environ.get("PODCACHE_IMAGE_PREFIX", "localhost")
        self._note = binaries.cache_folder() / "demo-existing.json"
        if shutil.which("kubectl") is None:
            raise RuntimeError("--existing needs kubectl in the PATH")
        self._helm = shutil.which("helm")

    def kubectl(self, *arguments, check=True, **options):
        return self._run("kubectl", *arguments, check=check, **options)

    def helm(self, *arguments, check=True, **options):
        self._helm = self._helm or binaries.ensure(["helm"]) / "helm"
        return self._run(self._helm, *arguments, check=check, **options)

    @staticmethod
    def _run(*command, check, **options):
        options = {"text": True, "capture_output": True, **options}
        done = subprocess.run(list(map(str, command)), **options)
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}".rstrip())
        return done

    def prepare(self):
        context = self.kubectl("config", "current-context").stdout.strip()
        say(f"The cluster of kubectl's context {context}")
        version = json.loads(self.kubectl("version", "-o", "json").stdout)["serverVersion"]["gitVersion"]
        note(f"Kubernetes {version}")
        if self.kubectl("get", "crd", "cachesidecars.podcache.dev", check=False).returncode == 0 and not self._note.exists():
            raise RuntimeError("Podcache is installed there already; the demonstration would change it. "
                               "Follow 'A first cache' in the README instead")
        self._note.parent.mkdir(parents=True, exist_ok=True)
        self._note.write_text(json.dumps({"context": context}))
        self._bring_images()

    def _bring_images(self):
        sample = application.build_image()
        if os.environ.get("PODCACHE_IMAGES_LOADED"):
            note("images: already on the nodes, as you say")
            return
        if self.prefix == "localhost":
            raise RuntimeError("say where your nodes pull from: PODCACHE_IMAGE_PREFIX=registry.example/team tools/demo --existing")
        pairs = [(f"oci-archive:{install.IMAGES}/{name}.oci.tar", install.image(name, self.prefix))
                 for name in ("podcached", "podcache-operator")]
        pairs.append((f"docker-archive:{sample}", application.IMAGE.replace("localhost", self.prefix)))
        for source, target in pairs:
            note(f"pushing {target}")
            self._run("skopeo", "copy", "--all", source, f"docker://{target}", check=True)

    def leave(self):
        leave_hints(None, "tools/demo --existing --down")

    def remove(self):
        if not self._note.exists():
            note("nothing of the demonstration is there")
            return
        wanted = json.loads(self._note.read_text())["context"]
        current = self.kubectl("config", "current-context").stdout.strip()
        if current != wanted:
            raise RuntimeError(f"the demonstration is in context {wanted}, kubectl is at {current}")
        self.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")
        self.helm("uninstall", install.RELEASE, "-n", install.NAMESPACE, "--wait", check=False)
        # Helm keeps the CRDs on purpose; here nobody else uses them.
        self.kubectl("delete", "crd", "-l", "app.kubernetes.io/part-of=podcache", "--ignore-not-found")
        self.kubectl("delete", "namespace", install.NAMESPACE, "--ignore-not-found")
        self._note.unlink()


def leave_hints(path_line, down):
    say("It stays up. Try next")
    if path_line:
        note(path_line)
    for line in (
            f"kubectl -n {NAMESPACE} get csc,pods",
            f"kubectl -n {NAMESPACE} patch csc shop --type=merge -p '{{\"spec\":{{\"memory\":{{\"size\":\"200Mi\"}}}}}}'",
            f"kubectl -n {NAMESPACE} get csc shop -w",
            f"kubectl -n {NAMESPACE} describe csc shop",
            f"kubectl podcache top --pod $(kubectl -n {NAMESPACE} get pods -l app=shop -o name | cut -d/ -f2) -n {NAMESPACE}",
            f"kubectl get --raw /api/v1/namespaces/{NAMESPACE}/pods/$(kubectl -n {NAMESPACE} get pods -l app=shop -o name"
            " | cut -d/ -f2):9150/proxy/metrics",
            f"kubectl -n {install.NAMESPACE} logs deployment/podcache-operator"):
        note(line)
    note(f"{down}        # removes all of it")
