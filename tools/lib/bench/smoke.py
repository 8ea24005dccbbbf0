"""A short run of each workload that checks every reply; speed does not matter."""
import argparse
import os

from . import client, servers, threads
from .compare import WORKLOADS

KEYS = 20_000
SECONDS = 0.5


def check(condition, what):
    if not condition:
        raise RuntimeError(what)


def one(workload, server, cpus, say):
    shape = {"workload": workload, "keys": KEYS, "check": True}
    filled = client.run("fill", server, cpus, **shape)
    check(filled["stored"] == KEYS, f"{workload}: {filled['stored']} of {KEYS} items stored")
    load = client.run("load", server, cpus, **shape, warm_up=0, seconds=SECONDS, server_pid=server.pid)
    check(load["operations"] > 0, f"{workload}: nothing was answered")
    check(load["gets"] == load["hits"], f"{workload}: {load['gets'] - load['hits']} misses, and nothing is evicted")
    check((load["sets"] > 0) == (workload.startswith(("memtier", "set")) or workload == "mget50-sets"),
          f"{workload}: {load['sets']} sets")
    timed = 0
    if workload != "mget50-sets":
        rate = {"memtier-1-10:1": 2000}.get(workload, 20_000)
        latency = client.run("latency", server, cpus, **shape, warm_up=0, seconds=SECONDS, rate=rate)
        timed = latency["requests"]
        check(timed > 0 and latency["unanswered"] == 0, f"{workload}: {latency}")
    there = client.run("count", server, cpus, **shape)
    check(there["found"] == KEYS, f"{workload}: {there['found']} of {KEYS} items are there")
    say(f"{workload}: {load['operations']} operations, {timed} timed requests, all replies right")


def thread_changes(say):
    """To and fro under load: no wrong reply, no connection lost or made anew."""
    settings = argparse.Namespace(threads=4, memory=128, keys=KEYS, connections=20, workload="memtier-1-10:1", rate=2000, seconds=3, rounds=1)
    result = threads.measure(settings, say, [threads.TO_AND_FRO])
    check(not any(threads.failures(result).values()), f"threads to and fro: {threads.failures(result)}")


def run(say):
    cpus = os.sched_getaffinity(0)
    for unix in (False, True):
        with servers.Server(servers.Podcached(), cpus, threads=2, memory_mb=256, unix=unix) as server:
            say(f"podcached at {server.address}")
            for workload in WORKLOADS:
                one(workload, server, cpus, say)
    for kind in (servers.stub(), servers.no_engine()):
        with servers.Server(kind, cpus, threads=2) as server:
            for workload in WORKLOADS:
                load = client.run("load", server, cpus, workload=workload, keys=KEYS, warm_up=0, seconds=0.1)
                check(load["errors"] == 0 and load["gets"] == load["hits"], f"{kind.name}, {workload}: {load}")
        say(f"{kind.name}: every workload answered")
    thread_changes(say)
