"""Where a server's time goes: samples of its processor time while a workload runs, by function."""
import os
import re
import subprocess
import tempfile

from . import client, machine, servers
from .compare import WORKLOADS, Plan

SAMPLES_PER_SECOND = 4000
SHOWN_PERCENT = 1.0


def kind_of(name):
    """podcached, one of the stubs, or a peer."""
    own = {"podcached": servers.Podcached, "podcached-no-engine": servers.no_engine, "stub": servers.stub}
    return own[name]() if name in own else servers.peer(name)


def sample(plan, workload, kind):
    """[(percent, where, function)], most first."""
    with tempfile.TemporaryDirectory() as folder, plan.start(kind, workload) as server:
        data = os.path.join(folder, "perf.data")
        perf = subprocess.Popen(["perf", "record", "-q", "-e", "cpu-clock", "-F", str(SAMPLES_PER_SECOND), "-o", data,
                                 "-p", str(server.pid), "sleep", str(plan.seconds)], stderr=subprocess.DEVNULL)
        client.run("load", server, plan.client_cpus, **plan.shape(workload), warm_up=0.1, seconds=plan.seconds + 0.5)
        if perf.wait() != 0:
            raise RuntimeError("perf cannot sample here")
        text = subprocess.run(["perf", "report", "-i", data, "--stdio", "--sort", "dso,symbol", "-t", "|"],
                              capture_output=True, text=True, check=True).stdout
    found = []
    for line in text.splitlines():
        match = re.fullmatch(r"\s*([\d.]+)%\s*\|\s*(\S+)\s*\|\s*\[([.k])\] ([^|]*?)\s*(?:\|.*)?", line)
        if match:
            found.append((float(match[1]), "kernel" if match[3] == "k" else match[2], match[4]))
    return found


def run(arguments, say, print_table):
    plan = Plan(arguments)
    kind = kind_of(arguments.server)
    results = []
    with machine.congestion_control():
        for workload in arguments.workload or WORKLOADS:
            found = sample(plan, workload, kind)
            kernel = sum(percent for percent, where, _ in found if where == "kernel")
            print(f"\n{kind.name}, {workload}: {kernel:.0f} % in the kernel\n")
            shown = [(f"{function[:96]}", where, f"{percent:.1f} %") for percent, where, function in found
                     if percent >= SHOWN_PERCENT]
            print_table([("function", "where", "share"), *shown])
            results.append({"workload": workload, "kernel_percent": kernel,
                            "functions": [{"percent": p, "where": w, "function": f} for p, w, f in found]})
    return {"machine": machine.description(), "server": kind.name, "results": results}
