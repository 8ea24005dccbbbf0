"""Server CPU time per operation, ours against a peer's: runs in the order A B B A, and the ceilings beside them.

Ours, the peer and both stubs run on the same cores, one of them loaded at a time; the client has cores of its own where there
are enough. A pair is one run of each, next to each other in time; its ratio is the peer's cost by ours. The result is the median
of the pairs, the spread their range by the median. Costs are user and system time of all threads of the server by the operations
(keys got, sets) that completed meanwhile.
"""
import contextlib
import signal
import statistics
import subprocess
import time

from . import client, machine, servers

WORKLOADS = ("memtier-1-10:1", "memtier-1-10:50", "memtier-1-10:100", "get8", "mget50", "mget50-sets", "set50")
MAX_STEAL = 0.01
MAX_DISCARDED = 3  # For each pair that is wanted.
PERF_START_SECONDS = 0.5
RECEIVES = ("read", "readv", "recvfrom", "recvmsg")


class Plan:
    """What is the same for all workloads of a comparison."""

    def __init__(self, arguments):
        self.keys = arguments.keys
        self.key_bytes = arguments.key_bytes
        self.value_bytes = arguments.value_bytes
        self.connections = arguments.connections
        self.threads = arguments.threads
        self.memory_mb = arguments.memory
        self.unix = arguments.unix
        self.check = False
        self.pairs = arguments.pairs or (2 if arguments.quick else 7)
        self.seconds = arguments.seconds or (0.7 if arguments.quick else 2)
        self.warm_up = 0.2 if arguments.quick else 0.5
        server_cpus, client_cpus = machine.default_cpus(self.threads)
        self.server_cpus = machine.parse_cpus(arguments.server_cpus) if arguments.server_cpus else server_cpus
        self.client_cpus = machine.parse_cpus(arguments.client_cpus) if arguments.client_cpus else client_cpus

    def shape(self, workload):
        return {"workload": workload, "keys": self.keys, "key_bytes": self.key_bytes,
                "value_bytes": self.value_bytes, "connections": self.connections}

    def value_size(self, workload):
        if self.value_bytes is not None:
            return self.value_bytes
        return 10 if workload.startswith(("get", "mget")) else 128

    def start(self, kind, workload):
        server = servers.Server(kind, self.server_cpus, self.threads, self.memory_mb, self.value_size(workload), self.unix)
        if kind.has_store:
            try:
                client.run("fill", server, self.client_cpus, **self.shape(workload))
            except BaseException:
                server.stop()
                raise
        return server


def one_run(plan, workload, server):
    """Cost of one operation, or None when the hypervisor took too much of the time."""
    shares = machine.CpuShares()
    report = client.run("load", server, plan.client_cpus, **plan.shape(workload), warm_up=plan.warm_up,
                        seconds=plan.seconds, server_pid=server.pid)
    elapsed = shares.elapsed()
    if elapsed["steal"] > MAX_STEAL:
        return None
    operations = max(report["operations"], 1)
    used = report["server_user_us"] + report["server_system_us"]
    return {
        "us": used / operations,
        "user_us": report["server_user_us"] / operations,
        "system_us": report["server_system_us"] / operations,
        "operations_per_s": operations / report["seconds"],
        "utilisation": used / (report["seconds"] * 1e6 * plan.threads),
        "requests_per_s": report["requests"] / report["seconds"],
        "misses": report["gets"] - report["hits"],
        "others": elapsed["busy_us"],
    }


def middle(runs):
    """The median of each figure."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def pair_ratios(pairs):
    """The ratios peer : ours, their median and spread."""
    ratios = [peer["us"] / ours["us"] for ours, peer in pairs]
    median = statistics.median(ratios)
    return ratios, median, (max(ratios) - min(ratios)) / median


def requests_per_receive(plan, workload, server):
    """Requests by receiving system calls, of a run of its own; None where the kernel does not count those."""
    events = ",".join(f"syscalls:sys_enter_{name}" for name in RECEIVES)
    try:
        perf = subprocess.Popen(["perf", "stat", "-x,", "-e", events, "-p", str(server.pid)],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    except OSError:
        return None
    time.sleep(PERF_START_SECONDS)
    # Without warming up: what is counted here is what the server received.
    report = client.run("load", server, plan.client_cpus, **plan.shape(workload), warm_up=0, seconds=1)
    perf.send_signal(signal.SIGINT)
    _, text = perf.communicate()
    counts = [line.split(",")[0] for line in text.splitlines() if "syscalls:" in line]
    calls = sum(int(count) for count in counts if count.isdigit())
    return report["requests"] / calls if calls else None


def measure(plan, workload, peer_kind, say):
    with contextlib.ExitStack() as stack:
        ours, peer = (stack.enter_context(plan.start(kind, workload)) for kind in (servers.Podcached(), peer_kind))
        ceilings = {"stub": stack.enter_context(plan.start(servers.stub(), workload)),
                    "io": stack.enter_context(plan.start(servers.no_engine(), workload))}
        pairs, discarded = [], 0
        ceiling_runs = {name: [] for name in ceilings}
        while len(pairs) < plan.pairs:
            order = (ours, peer) if len(pairs) % 2 == 0 else (peer, ours)
            runs = {server: one_run(plan, workload, server) for server in order}
            if None in runs.values():
                discarded += 1
                if discarded > MAX_DISCARDED * plan.pairs:
                    raise RuntimeError("the hypervisor takes more than 1 % of the time; try another hour or machine")
                continue
            pairs.append((runs[ours], runs[peer]))
            say(f"{workload}: pair {len(pairs)} of {plan.pairs}: ours {runs[ours]['us']:.3f}, "
                f"peer {runs[peer]['us']:.3f} µs")
            if len(pairs) % 2 == 1:
                for name, server in ceilings.items():
                    if (run := one_run(plan, workload, server)) is not None:
                        ceiling_runs[name].append(run)
        receives = [requests_per_receive(plan, workload, server) for server in (ours, peer)]
    ratios, ratio, spread = pair_ratios(pairs)
    result = {"workload": workload, "ratio": ratio, "spread": spread, "ratios": ratios, "discarded": discarded}
    figures = {"ours": middle([a for a, _ in pairs]), "peer": middle([b for _, b in pairs])}
    figures |= {name: middle(runs) for name, runs in ceiling_runs.items() if runs}
    for who, figure in figures.items():
        result |= {f"{who}_us": figure.pop("us")} | {f"{who}_{name}": value for name, value in figure.items()}
    result["ours_requests_per_receive"], result["peer_requests_per_receive"] = receives
    return result


def run(arguments, say):
    plan = Plan(arguments)
    peer_kind = servers.peer(arguments.peer)
    about = machine.description() | {
        "ours": servers.Podcached().version(), "peer": peer_kind.version(), "transport": "unix" if plan.unix else "tcp",
        "server_threads": plan.threads, "server_cpus": sorted(plan.server_cpus), "client_cpus": sorted(plan.client_cpus),
        "memory_mb": plan.memory_mb, "keys": plan.keys, "pairs": plan.pairs, "seconds": plan.seconds}
    if plan.server_cpus & plan.client_cpus:
        say("server and client share a core: costs are right, operations per second are not the server's own")
    results = []
    with machine.congestion_control() as congestion:
        about["congestion_control"] = congestion
        for workload in arguments.workload or WORKLOADS:
            results.append(measure(plan, workload, peer_kind, say))
    return {"machine": about, "results": results}
