"""Latency in an open loop, at shares of what the peer can do at most.

Both servers get the same rate: 50 % and 80 % of the peer's own peak, measured just before. Requests are timed from when they were due, so a
stall is charged for all that was due meanwhile.
"""
import contextlib
import os
import statistics

from . import machine, servers
from .compare import Plan, one_run
from .disturbed import percent, under_load

WORKLOADS = ("memtier-1-10:1", "get8")
SHARES = (0.5, 0.8)
PERCENTILES = ("p50", "p99", "p99.9")


def run(arguments, say, print_table):
    plan = Plan(arguments)
    kinds = (servers.Podcached(), servers.peer(arguments.peer))
    about = machine.description() | {"ours": kinds[0].version(), "peer": kinds[1].version()}
    results = []
    lines = [("workload", "requests/s", "share", *(f"{who} {p}" for p in PERCENTILES for who in ("ours", "peer")), "ours stolen", "peer stolen")]
    with machine.congestion_control() as congestion:
        about["congestion_control"] = congestion
        for workload in arguments.workload or WORKLOADS:
            for result in measure(plan, workload, kinds, arguments.histograms, say):
                results.append(result)
                lines.append((workload, f"{result['rate']:.0f}", f"{result['share'] * 100:.0f} %",
                              *(f"{result[who][p]:.0f}" for p in PERCENTILES for who in ("ours", "peer")),
                              *(percent(result[who]["steal"]) for who in ("ours", "peer"))))
    print(f"\n{about['ours']} against {about['peer']}, µs from when a request was due; median of {plan.pairs} runs; stolen: by the hypervisor, of all processors' time\n")
    print_table(lines)
    return {"machine": about, "results": results}


def measure(plan, workload, kinds, folder, say):
    with contextlib.ExitStack() as stack:
        ours, peer = (stack.enter_context(plan.start(kind, workload)) for kind in kinds)
        peaks = [run["requests_per_s"] for run in (one_run(plan, workload, peer) for _ in range(3)) if run]
        if not peaks:
            raise RuntimeError("the hypervisor takes more than 1 % of the time; try another hour or machine")
        say(f"{workload}: the peer answers at most {max(peaks):.0f} requests/s")
        for share in SHARES:
            runs = {ours: [], peer: []}
            for i in range(plan.pairs):
                for server in (ours, peer) if i % 2 == 0 else (peer, ours):
                    name = f"{workload.replace(':', '-')}.{share:.0%}.{server.kind.name}.hgrm"
                    figures, _ = under_load(server, plan.client_cpus, **plan.shape(workload), warm_up=plan.warm_up,
                                            seconds=plan.seconds, rate=max(peaks) * share, seed=i + 1,
                                            histogram=folder and os.path.join(folder, name))
                    runs[server].append(figures)
            say(f"{workload}: {share:.0%} done")
            yield {"workload": workload, "share": share, "rate": max(peaks) * share,
                   **{who: {p: statistics.median(run[p] for run in runs[server]) for p in runs[server][0]}
                      for who, server in (("ours", ours), ("peer", peer))}}
