"""What the demonstration shows, step by step. Every step is checked; a wrong one ends the story with an error."""
import json
import time

from cluster_lib.processes import wait_for
from support import application, install

from .live import LiveView
from .places import NAMESPACE, note, say

MIB = 2**20
NAME = "shop"
# About 200 MiB of pages: more than the small cache holds, less than the big one.
PAGES, PAGE_BYTES, RATE = 100_000, 2000, 6000
CACHE_SIDECAR = {
    "apiVersion": "podcache.dev/v1alpha1", "kind": "CacheSidecar", "metadata": {"name": NAME, "namespace": NAMESPACE},
    "spec": {"selector": {"matchLabels": {"app": NAME}}, "memory": {"size": "64Mi"},
             "threads": {"mode": "Fixed", "count": 1}}}


def tell(place):
    place.prepare()
    install_podcache(place)
    run_app(place)
    view = LiveView(place, NAMESPACE, NAME)
    say("A cache of 64Mi: too small for the pages the app asks for")
    small = view.watch(20)
    check(small.limit == 64 * MIB, f"the cache's limit is {small.limit}")
    big = resize(place, view, "256Mi", 2, "Growing the running cache: 64Mi → 256Mi, 1 → 2 threads", 30)
    check(big.hit_ratio > small.hit_ratio + 0.05, f"the hit ratio went from {small.hit_ratio:.2f} to {big.hit_ratio:.2f}")
    less = resize(place, view, "96Mi", 1, "Shrinking it: 256Mi → 96Mi, 2 → 1 threads", 15)
    check(less.resident < big.resident, "the memory was not given back")
    say("What it was worth")
    note(f"hit ratio {small.hit_ratio:.0%} at 64Mi, {big.hit_ratio:.0%} at 256Mi, {less.hit_ratio:.0%} at 96Mi; "
         f"{view.requests()} requests, 0 errors, 0 restarts, the same pod all the time")


def check(truth, otherwise):
    if not truth:
        raise RuntimeError(f"not as it should be: {otherwise}")


def install_podcache(place):
    say("helm install podcache")
    install.install(place.helm, place.prefix)
    note("operator Ready; kinds CacheSidecar (csc) and CacheProfile (cprof) are served")


def run_app(place):
    say("A sample app with a cache beside it")
    if place.kubectl("get", "namespace", NAMESPACE, check=False).returncode != 0:
        place.kubectl("create", "namespace", NAMESPACE)
    install.apply(place, CACHE_SIDECAR)
    note("CacheSidecar: pods labelled app=shop get 64Mi of cache and 1 thread")
    wait_for("the webhook", lambda: install.condition(
        install.get(place, "cachesidecar", NAME, "-n", NAMESPACE), "InjectionReady").get("status") == "True", 60)
    app = application.container(
        "-items=0", "-read-through", f"-keys={PAGES}", f"-value-bytes={PAGE_BYTES}", f"-rate={RATE}",
        image=application.IMAGE.replace("localhost", place.prefix))
    install.apply(place, application.deployment(NAMESPACE, NAME, app))
    place.kubectl("rollout", "status", f"deployment/{NAME}", "-n", NAMESPACE, "--timeout=120s")
    note(f"Deployment labelled podcache.dev/inject=true: app and podcached run in one pod, {RATE} requests/s")


def resize(place, view, size, threads, title, seconds):
    """Patches the CacheSidecar and watches; returns the last view."""
    say(title)
    patch = json.dumps({"spec": {"memory": {"size": size}, "threads": {"mode": "Fixed", "count": threads}}})
    note(f"kubectl -n {NAMESPACE} patch csc {NAME} --type=merge -p '{patch}'")
    started = time.monotonic()
    place.kubectl("patch", "cachesidecar", NAME, "-n", NAMESPACE, "--type", "merge", "-p", patch)
    wanted = int(size.removesuffix("Mi")) * MIB

    def in_force():
        seen = install.get(place, "cachesidecar", NAME, "-n", NAMESPACE)
        now = view.now()
        return ((now.limit, now.threads) == (wanted, threads)
                and seen["status"]["observedGeneration"] == seen["metadata"]["generation"]
                and install.condition(seen, "Resizing").get("status") == "False")

    wait_for(f"a cache of {size}", in_force, 90, 0.2, lambda: json.dumps(
        install.get(place, "cachesidecar", NAME, "-n", NAMESPACE)["status"]["conditions"], indent=1))
    note(f"in force after {time.monotonic() - started:.1f} s: cache limit, cgroup limit, threads, status")
    last = view.watch(seconds)
    check(view.restarts() == 0, "a container was restarted")
    return last
