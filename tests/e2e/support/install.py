"""Installs Podcache into a cluster with Helm, from the project's own chart and images."""
import json
import re

from . import TOP

NAMESPACE = "podcache-system"
RELEASE = "podcache"
CHART = TOP / "charts" / "podcache"
IMAGES = TOP / "build" / "images"


def version():
    return re.search(r"^project\(podcache VERSION ([\d.]+)", (TOP / "CMakeLists.txt").read_text(), re.M).group(1)


def image(name, prefix="localhost"):
    return f"{prefix}/{name}:{version()}"


def load_images(cluster):
    for name in ("podcached", "podcache-operator"):
        cluster.load_image(IMAGES / f"{name}.oci.tar")


def install(helm, prefix="localhost", values=()):
    """`helm` runs helm with the given arguments. Returns when the operator is Ready."""
    settings = {"image.registry": prefix, **dict(values)}
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return helm("upgrade", "--install", RELEASE, CHART, "--namespace", NAMESPACE, "--create-namespace", "--wait",
                "--timeout", "120s", *words)


def uninstall(helm):
    return helm("uninstall", RELEASE, "--namespace", NAMESPACE, "--wait", "--timeout", "60s")


def apply(cluster, *objects):
    """Server-side apply of objects given as dictionaries."""
    manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    return cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=manifest)


def get(cluster, *what):
    """The object (or list) as a dictionary, or None if it is not there."""
    done = cluster.kubectl("get", *what, "-o", "json", "--ignore-not-found")
    return json.loads(done.stdout) if done.stdout.strip() else None


def items(cluster, kind, *options):
    """The objects of a kind, perhaps none."""
    return (get(cluster, kind, *options) or {"items": []})["items"]


def condition(thing, kind):
    """The condition of that type, or an empty dictionary."""
    return next((each for each in (thing or {}).get("status", {}).get("conditions", []) if each["type"] == kind), {})
