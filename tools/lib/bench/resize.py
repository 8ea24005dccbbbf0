"""Live resize under load: how long a shrink takes until RSS is within 2 % of the new limit, and what clients feel meanwhile.

The cache is filled past eviction; then an open loop runs three times: undisturbed, while the limit is lowered, and while it is raised
again. Latencies are of all requests of those seconds, from when they were due. Then the same in the store alone (podcache-resize), which also
tells the CPU that the background thread took and the longest single operation.
"""
import json
import os
import subprocess
import threading
import time

from . import client, machine, servers
from .places import BIN

KEY_BYTES, VALUE_BYTES, LEAST_OVERHEAD = 20, 128, 24
WITHIN = 1.02
BEFORE_SECONDS = 0.5
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


class Change(threading.Thread):
    """Asks for a limit a moment after it was started, and waits until that is done; seconds stays None if it never is."""

    def __init__(self, server, memory_mb, done):
        super().__init__()
        self.server, self.memory_mb, self.done = server, memory_mb, done
        self.seconds = None
        self.failure = None

    def run(self):
        try:
            time.sleep(BEFORE_SECONDS)
            start = time.monotonic()
            reply = ask(self.server, f"cache_memlimit {self.memory_mb}", b"\r\n")
            if reply != "OK\r\n":
                raise RuntimeError(f"cache_memlimit {self.memory_mb}: {reply}")
            while not self.done():
                if time.monotonic() > start + PATIENCE_SECONDS:
                    return
                time.sleep(PERIOD_SECONDS)
            self.seconds = time.monotonic() - start
        except (RuntimeError, OSError) as failure:
            self.failure = failure


def under_load(arguments, server, cpus, shape, change=None):
    if change is not None:
        change.start()
    report = client.run("latency", server, cpus, **shape, rate=arguments.rate, warm_up=0.2, seconds=arguments.seconds)
    if change is not None:
        change.join()
        if change.failure is not None:
            raise change.failure
    return report["latency_us"]


def in_store(arguments):
    done = subprocess.run([os.path.join(BIN, "podcache-resize"), "--memory", str(arguments.memory), "--to", str(arguments.to), "--threads",
                           str(arguments.threads), "--rate", str(arguments.rate), "--seconds", str(arguments.seconds)],
                          stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def print_store(report, print_table):
    print("\nThe store alone; µs of an operation: a batch of 16 gets or a set. The last column is of those that the kernel did not interrupt.\n")
    names = ("p50_us", "p99_us", "p99.9_us", "longest_us", "longest_uninterrupted_us")
    print_table([("phase", "background CPU, s", *(name.removesuffix("_us").replace("_", " ") for name in names)),
                 *((phase, f"{figures['background_cpu_seconds']:.2f}", *(f"{figures[name]:.0f}" for name in names))
                   for phase, figures in report.items() if isinstance(figures, dict))])


def run(arguments, say, print_table):
    large, small = arguments.memory, arguments.to
    server_cpus, client_cpus = machine.default_cpus(arguments.threads)
    keys = (large << 20) // (KEY_BYTES + VALUE_BYTES + LEAST_OVERHEAD)
    shape = {"workload": arguments.workload, "keys": keys, "key_bytes": KEY_BYTES, "value_bytes": VALUE_BYTES}
    with machine.congestion_control(), servers.Server(servers.Podcached(), server_cpus, arguments.threads, large) as server:
        client.run("fill", server, client_cpus, errors_allowed=True, **shape)
        say(f"filled: {server.resident_bytes() >> 20} MiB")
        quiet = under_load(arguments, server, client_cpus, shape)
        shrink = Change(server, small, lambda: server.resident_bytes() <= (small << 20) * WITHIN)
        shrinking = under_load(arguments, server, client_cpus, shape, shrink)
        rss = server.resident_bytes()
        say(f"{large} → {small} MiB: " + (f"RSS within 2 % after {shrink.seconds:.2f} s" if shrink.seconds is not None else
                                          f"RSS not within 2 %, {rss / 2**20:.0f} MiB after {PATIENCE_SECONDS} s"))
        grow = Change(server, large, lambda: limit_in_force(server) == large << 20)
        growing = under_load(arguments, server, client_cpus, shape, grow)
        say(f"{small} → {large} MiB: " + (f"in force after {grow.seconds:.3f} s" if grow.seconds is not None else
                                          f"not in force after {PATIENCE_SECONDS} s"))
    names = ("p50", "p99", "p99.9", "max")
    print(f"\n{arguments.rate} requests/s, {arguments.workload}; µs from when a request was due\n")
    print_table([("phase", *names), *((phase, *(f"{figures[name]:.0f}" for name in names)) for phase, figures in (
        ("undisturbed", quiet), (f"{large} → {small}", shrinking), (f"{small} → {large}", growing)))])
    store = in_store(arguments)
    print_store(store, print_table)
    return {"machine": machine.description(), "store": store, "from_mb": large, "to_mb": small, "shrink_seconds": shrink.seconds, "shrunk_rss_bytes": rss,
            "grow_seconds": grow.seconds, "quiet": quiet, "shrinking": shrinking, "growing": growing}
