"""Threads come and go under load: how long a change takes, whether a connection is lost or a reply wrong, and what clients feel.

An open loop runs undisturbed, while one thread becomes N, while N become one again, and while they change to and fro. The change is asked for as
an operator would, by podcachectl; it is in force when `stats` shows it and the kernel has as many worker threads: none still to come, none
still to go. The time begins with the start of podcachectl. Where it shares cores with server and load, it is felt itself and waits for them:
"asked only" is what it takes, and what clients feel, when it is run as often and nothing is changed.

A connection that is lost ends the load, which then fails; `stats` tells, too, what was open before and after each change, and that nobody
connected anew in a phase. Every reply and value is checked.
"""
import os
import statistics
import subprocess
import tempfile
import time

from . import client, machine, servers
from .disturbed import NAMES, cells, chosen, quietest, under_load
from .places import BIN

GOAL_SECONDS = 0.1
PERIOD_SECONDS = 0.002
PATIENCE_SECONDS = 15
PAUSE_SECONDS = 0.1  # Between changes to and fro.
CHANGING_SHARE = 0.6  # Of the load's time; the rest is for slow machines.
UNDISTURBED, ASKED, MORE, FEWER, TO_AND_FRO = PHASES = ("undisturbed", "asked only", "1 → N", "N → 1", "to and fro")


class Control:
    """podcachectl, at the server's admin socket."""

    def __init__(self, address):
        self.command = [os.path.join(BIN, "podcachectl"), "--address", address]

    def start(self, *words):
        return subprocess.Popen([*self.command, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    @staticmethod
    def finish(process):
        said, _ = process.communicate()
        if process.returncode != 0:
            raise RuntimeError(f"podcachectl: {said.strip()}")


class Stats:
    """A connection that asks for `stats`; it is moved between threads as others are."""

    def __init__(self, server):
        self.connection = server.connect()
        self.connection.settimeout(PATIENCE_SECONDS)

    def read(self):
        self.connection.sendall(b"stats\r\n")
        reply = b""
        while not reply.endswith(b"END\r\n"):
            piece = self.connection.recv(1 << 16)
            if not piece:
                raise RuntimeError("the server closed the connection that asks for stats")
            reply += piece
        return {name: value for _, name, value in (line.split(" ", 2) for line in reply.decode().splitlines()[:-1])}

    def connections(self):
        """Those open, and those there have ever been."""
        now = self.read()
        return int(now["curr_connections"]), int(now["total_connections"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()


def workers(pid):
    """Threads of the kernel that serve; one that ends while it is looked at does not count."""
    folder = f"/proc/{pid}/task"
    names = []
    for thread in os.listdir(folder):
        try:
            with open(f"{folder}/{thread}/comm") as file:
                names.append(file.read().strip())
        except (FileNotFoundError, ProcessLookupError):
            pass
    return names.count("worker")


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"not within {PATIENCE_SECONDS} s: {what}")
        time.sleep(PERIOD_SECONDS)


class Changes:
    """What is done while the load runs. A call of podcachectl is {"to", "seconds", "lost"}: threads and connections."""

    def __init__(self, server, control, stats, connections):
        self.server, self.control, self.stats = server, control, stats
        self.connections = connections  # Of the load.
        self.total_before = 0

    def begin_phase(self):
        _, self.total_before = self.stats.connections()

    def new_in_phase(self):
        """Connections that the load has made beyond its first."""
        return self.stats.connections()[1] - self.total_before - self.connections

    def await_load(self):
        wait_until(lambda: self.new_in_phase() >= 0, f"{self.connections} connections")

    def change(self, count, over):
        current, _ = self.stats.connections()
        start = time.monotonic()
        process = self.control.start("set", "threads", str(count), "--timeout", str(PATIENCE_SECONDS))
        try:
            wait_until(lambda: int(self.stats.read()["threads"]) == count and workers(self.server.pid) == count, f"{count} threads")
            seconds = time.monotonic() - start
        finally:
            self.control.finish(process)
        current_after, _ = self.stats.connections()
        if over.is_set():
            raise RuntimeError("the load ended before a change was done: it needs more --seconds")
        return {"to": count, "seconds": seconds, "lost": current - current_after}

    def ask(self):
        """The same without a change: what podcachectl itself takes."""
        start = time.monotonic()
        process = self.control.start("get", "threads")
        while process.poll() is None:
            self.stats.read()
            workers(self.server.pid)
            time.sleep(PERIOD_SECONDS)
        self.control.finish(process)
        return {"to": None, "seconds": time.monotonic() - start, "lost": 0}

    def once(self, count, over):
        self.await_load()
        return [self.change(count, over)]

    def repeatedly(self, seconds, steps):
        """As often as there is time for; what the steps returned."""
        self.await_load()
        end = time.monotonic() + seconds * CHANGING_SHARE
        done = []
        while not done or time.monotonic() < end:
            for step in steps:
                done.append(step())
                time.sleep(PAUSE_SECONDS)
        return done


def one_round(arguments, server, cpus, changes, load, phases, say):
    count, seconds = arguments.threads, arguments.seconds
    acts = {UNDISTURBED: None, ASKED: lambda _: changes.repeatedly(seconds, [changes.ask]), MORE: lambda over: changes.once(count, over),
            FEWER: lambda over: changes.once(1, over),
            TO_AND_FRO: lambda over: changes.repeatedly(seconds, [lambda: changes.change(count, over), lambda: changes.change(1, over)])}
    result = {}
    for phase in phases:
        act = acts[phase]
        changes.begin_phase()
        figures, done = under_load(server, cpus, act, errors_allowed=True, **load)
        result[phase] = figures | {"calls": done or [], "new": changes.new_in_phase()}
        say(phase.replace("N", str(count)) + (f": {len(done)} calls, the longest {milliseconds(longest(done))} ms" if done else ""))
    return result


def longest(calls):
    return max(call["seconds"] for call in calls)


def milliseconds(seconds):
    return f"{seconds * 1000:.1f}"


def changes_of(result):
    return [call for one in result["rounds"] for phase in one.values() for call in phase["calls"] if call["to"] is not None]


def measure(arguments, say, phases=PHASES):
    """What is in the JSON: the figures of each round and phase."""
    server_cpus, client_cpus = machine.default_cpus(arguments.threads)
    shape = {"workload": arguments.workload, "keys": arguments.keys, "check": True}
    load = {**shape, "connections": arguments.connections, "rate": arguments.rate, "seconds": arguments.seconds}
    with tempfile.TemporaryDirectory(prefix="podcache-bench.") as folder, machine.congestion_control():
        admin = f"unix:{folder}/admin.sock"
        with servers.Server(servers.Podcached(admin=admin), server_cpus, 1, arguments.memory) as server, Stats(server) as stats:
            client.run("fill", server, client_cpus, **shape)
            changes = Changes(server, Control(admin), stats, arguments.connections)
            rounds = [one_round(arguments, server, client_cpus, changes, load, phases, say) for _ in range(arguments.rounds)]
    return {"machine": machine.description(), "threads": arguments.threads, "connections": arguments.connections, "rate": arguments.rate,
            "workload": arguments.workload, "phases": {name: quietest([one[name] for one in rounds]) for name in rounds[0]}, "rounds": rounds}


def failures(result):
    """Of all rounds: replies that were wrong or did not come, connections lost and new."""
    phases = [phase for one in result["rounds"] for phase in one.values()]
    return {"errors": sum(phase["errors"] for phase in phases), "unanswered": sum(phase["unanswered"] for phase in phases),
            "lost": sum(abs(change["lost"]) for change in changes_of(result)), "new": sum(phase["new"] for phase in phases)}


def run(arguments, say, print_table):
    result = measure(arguments, say)
    lines = [("phase", "calls", "median, ms", "longest, ms", "errors", "lost", "new", *NAMES, "stolen")]
    for phase, figures in result["phases"].items():
        calls = figures["calls"]
        times = (milliseconds(statistics.median(call["seconds"] for call in calls)), milliseconds(longest(calls))) if calls else ("", "")
        lines.append((phase.replace("N", str(arguments.threads)), len(calls), *times, figures["errors"] + figures["unanswered"],
                      sum(call["lost"] for call in calls), figures["new"], *cells(figures)))
    print(f"\n{arguments.rate:.0f} requests/s, {arguments.workload}, {arguments.connections} connections; µs from when a request was due"
          f"{chosen(arguments.rounds)}\nA call: podcachectl from its start until the change is in force; lost and new: connections\n")
    print_table(lines)
    changes = changes_of(result)
    result |= failures(result) | {"longest_change_seconds": longest(changes)}
    print(f"\nAll {len(changes)} changes: the longest {milliseconds(longest(changes))} ms (goal {milliseconds(GOAL_SECONDS)}); "
          + ", ".join(f"{name} {result[name]}" for name in ("errors", "unanswered", "lost", "new")))
    return result
