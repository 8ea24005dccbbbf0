"""Live resize under load: how long a shrink takes until RSS is within 2 % of the new limit, and what clients feel meanwhile.

The cache is filled past eviction; then an open loop runs three times: undisturbed, while the limit is lowered, and while it is raised
again. Then the same in the store alone (podcache-resize), which also tells the CPU that the background thread took and the longest single
operation.
"""
import json
import os
import subprocess
import time

from . import client, machine, servers
from .disturbed import NAMES, cells, chosen, percent, quietest, under_load
from .places import BIN

KEY_BYTES, VALUE_BYTES, LEAST_OVERHEAD = 20, 128, 24
WITHIN = 1.02
PERIOD_SECONDS = 0.005
PATIENCE_SECONDS = 15


def ask(server, command, end):
    with server.connect() as connection:
        connection.settimeout(PATIENCE_SECONDS)
        connection.sendall(command.encode() + b"\r\n")
        reply = b""
        while not reply.endswith(end):
            reply += connection.recv(1 << 16)
        return reply.decode()


def limit_in_force(server):
    for line in ask(server, "stats", b"END\r\n").splitlines():
        if line.startswith("STAT limit_maxbytes "):
            return int(line.split()[2])
    raise RuntimeError("stats show no limit_maxbytes")


def change_limit(server, memory_mb, done):
    """Asks for a limit and waits until `done`: the seconds, None if that never is."""
    start = time.monotonic()
    reply = ask(server, f"cache_memlimit {memory_mb}", b"\r\n")
    if reply != "OK\r\n":
        raise RuntimeError(f"cache_memlimit {memory_mb}: {reply}")
    while not done():
        if time.monotonic() > start + PATIENCE_SECONDS:
            return None
        time.sleep(PERIOD_SECONDS)
    return time.monotonic() - start


def in_store(arguments):
    shares = machine.CpuShares()
    done = subprocess.run([os.path.join(BIN, "podcache-resize"), "--memory", str(arguments.memory), "--to", str(arguments.to), "--threads",
                           str(arguments.threads), "--rate", str(arguments.rate), "--seconds", str(arguments.seconds)],
                          stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout) | {"steal": shares.elapsed()["steal"]}


def print_store(report, rounds, print_table):
    of_rounds = f" The one of {rounds} runs with the least of that." if rounds > 1 else ""
    print("\nThe store alone; µs of an operation: a batch of 16 gets or a set. The last column is of those that the kernel did not interrupt.\n"
          f"Stolen by the hypervisor: {percent(report['steal'])}.{of_rounds}\n")
    names = ("p50_us", "p99_us", "p99.9_us", "longest_us", "longest_uninterrupted_us")
    print_table([("phase", "background CPU, s", *(name.removesuffix("_us").replace("_", " ") for name in names)),
                 *((phase, f"{figures['background_cpu_seconds']:.2f}", *(f"{figures[name]:.0f}" for name in names))
                   for phase, figures in report.items() if isinstance(figures, dict))])


def one_round(arguments, server, cpus, shape, say):
    """Each phase's figures; those of a change with its `seconds`."""
    large, small = arguments.memory, arguments.to
    load = {**shape, "rate": arguments.rate, "seconds": arguments.seconds}
    client.run("fill", server, cpus, errors_allowed=True, **shape)
    say(f"filled: {server.resident_bytes() >> 20} MiB")
    quiet, _ = under_load(server, cpus, **load)
    shrinking, shrinking["seconds"] = under_load(
        server, cpus, lambda _: change_limit(server, small, lambda: server.resident_bytes() <= (small << 20) * WITHIN), **load)
    rss = shrinking["rss_bytes"] = server.resident_bytes()
    say(f"{large} → {small} MiB: " + (f"RSS within 2 % after {shrinking['seconds']:.2f} s" if shrinking["seconds"] is not None else
                                      f"RSS not within 2 %, {rss / 2**20:.0f} MiB after {PATIENCE_SECONDS} s"))
    growing, growing["seconds"] = under_load(
        server, cpus, lambda _: change_limit(server, large, lambda: limit_in_force(server) == large << 20), **load)
    say(f"{small} → {large} MiB: " + (f"in force after {growing['seconds']:.3f} s" if growing["seconds"] is not None else
                                      f"not in force after {PATIENCE_SECONDS} s"))
    return {"quiet": quiet, "shrinking": shrinking, "growing": growing}


def done_after(seconds):
    return "never" if seconds is None else f"{seconds:.3f}"


def run(arguments, say, print_table):
    large, small = arguments.memory, arguments.to
    server_cpus, client_cpus = machine.default_cpus(arguments.threads)
    keys = (large << 20) // (KEY_BYTES + VALUE_BYTES + LEAST_OVERHEAD)
    shape = {"workload": arguments.workload, "keys": keys, "key_bytes": KEY_BYTES, "value_bytes": VALUE_BYTES}
    with machine.congestion_control(), servers.Server(servers.Podcached(), server_cpus, arguments.threads, large) as server:
        rounds = [one_round(arguments, server, client_cpus, shape, say) for _ in range(arguments.rounds)]
    phases = {name: quietest([one[name] for one in rounds]) for name in rounds[0]}
    quiet, shrinking, growing = phases["quiet"], phases["shrinking"], phases["growing"]
    print(f"\n{arguments.rate:.0f} requests/s, {arguments.workload}; µs from when a request was due{chosen(arguments.rounds)}\n")
    print_table([("phase", "done after, s", *NAMES, "stolen"),
                 ("undisturbed", "", *cells(quiet)),
                 (f"{large} → {small}", done_after(shrinking["seconds"]), *cells(shrinking)),
                 (f"{small} → {large}", done_after(growing["seconds"]), *cells(growing))])
    stores = [in_store(arguments) for _ in range(arguments.rounds)]
    store = quietest(stores)
    print_store(store, arguments.rounds, print_table)
    return {"machine": machine.description(), "store": store, "from_mb": large, "to_mb": small,
            "shrink_seconds": shrinking["seconds"], "shrunk_rss_bytes": shrinking["rss_bytes"], "grow_seconds": growing["seconds"],
            **phases, "rounds": rounds, "store_rounds": stores}
