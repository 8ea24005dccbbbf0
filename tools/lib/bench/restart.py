"""Warm restart: a server with its items in a memory file (-e) is filled, stopped as Kubernetes does and started again.

A stop takes from SIGTERM to the end of the process, a start from the start of the process to the first value it serves; that the connection is
refused before is part of it. CPU is all that the starting process took by then. Nothing may be lost: as many items as were stored are counted
by getting every key, their values checked.
"""
import os
import shutil
import statistics
import tempfile
import time

from . import client, machine, servers
from .disturbed import percent

KEY_BYTES, VALUE_BYTES, RECORD_BYTES = 20, 128, 176
MEMORY_BY_RECORDS = 1.25
PERIOD_SECONDS = 0.002
PATIENCE_SECONDS = 60


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def serves(server):
    """Whether it answers; it does not before all items are there."""
    try:
        with server.connect() as connection:
            connection.settimeout(PATIENCE_SECONDS)
            connection.sendall(b"mn\r\n")
            return connection.recv(16) == b"MN\r\n"
    except OSError:
        return False


def stop_seconds(server):
    start = time.monotonic()
    server.child.stop(PATIENCE_SECONDS)
    if server.child.killed:
        raise RuntimeError(f"the server did not stop within {PATIENCE_SECONDS} s")
    return time.monotonic() - start


def run(arguments, say, print_table):
    cpus = set(range(machine.description()["cores"]))
    folder = tempfile.mkdtemp(prefix="podcache-restart.", dir=arguments.folder)
    kind = servers.Podcached(extra=("-e", os.path.join(folder, "items")))
    memory_mb = int(arguments.items * RECORD_BYTES * MEMORY_BY_RECORDS) >> 20
    shape = {"workload": "set50", "keys": arguments.items, "key_bytes": KEY_BYTES, "value_bytes": VALUE_BYTES}
    rounds = []
    try:
        server = servers.Server(kind, cpus, arguments.threads, memory_mb, unix=True)
        try:
            client.run("fill", server, cpus, **shape)
            say(f"filled: {server.resident_bytes() >> 20} MiB")
            for n in range(arguments.rounds):
                shares = machine.CpuShares()
                stopped = stop_seconds(server)
                server.close()
                start = time.monotonic()
                server = servers.Server(kind, cpus, arguments.threads, memory_mb, unix=True, wait=False)
                server.child.wait_until(lambda: serves(server), "answer", PATIENCE_SECONDS, PERIOD_SECONDS)
                started = time.monotonic() - start
                cpu = cpu_seconds(server.pid)
                steal = shares.elapsed()["steal"]
                found = client.run("count", server, cpus, **shape, check=True)["found"]
                if found != arguments.items:
                    raise RuntimeError(f"{found} of {arguments.items} items came back")
                rounds.append({"stop_seconds": stopped, "start_seconds": started, "start_cpu_seconds": cpu, "steal": steal})
                say(f"restart {n + 1} of {arguments.rounds}: stop {stopped:.2f} s, first answer after {started:.2f} s, {cpu:.2f} s of CPU")
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    middle = {name: statistics.median(r[name] for r in rounds) for name in rounds[0]}
    print(f"\n{kind.version()}, {arguments.items} items of {KEY_BYTES} + {VALUE_BYTES} bytes in {folder}, all of them back each time; "
          f"median of {arguments.rounds}\n")
    print_table([("stop, s", "first answer, s", "its CPU, s", "hypervisor took"),
                 (f"{middle['stop_seconds']:.2f}", f"{middle['start_seconds']:.2f}", f"{middle['start_cpu_seconds']:.2f}",
                  percent(middle["steal"]))])
    return {"machine": machine.description() | {"ours": kind.version()}, "items": arguments.items, "median": middle, "rounds": rounds}
