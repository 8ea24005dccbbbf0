"""Background processes of one cluster: started detached, recorded by pid and start time, stopped by that record alone.

The start time guards against a pid that the kernel has given to somebody else since.
"""
import json
import os
import signal
import subprocess
import time
from pathlib import Path


def start_ticks(pid):
    """Start time of a process in clock ticks since boot, or None if there is no such (living) process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


class Processes:
    """The processes recorded in `state`/pid, with one log file each in `state`/log."""

    def __init__(self, state, netns=None):
        self._state = Path(state)
        self._netns = netns
        self._started = []
        (self._state / "pid").mkdir(parents=True, exist_ok=True)
        (self._state / "log").mkdir(parents=True, exist_ok=True)

    def prefix(self):
        """Command words that enter the cluster's network. (`ip netns exec` would remount /sys and hide the cgroups.)"""
        return ["nsenter", f"--net=/run/netns/{self._netns}"] if self._netns else []

    def start(self, name, *command, env=None):
        with open(self._state / "log" / f"{name}.log", "ab") as log:
            child = subprocess.Popen([*self.prefix(), *map(str, command)], stdin=subprocess.DEVNULL, stdout=log,
                                     stderr=log, start_new_session=True, env={**os.environ, **(env or {})})
        self._started.append(child)  # Meant to outlive us: not to be warned of as forgotten.
        record = {"pid": child.pid, "start": start_ticks(child.pid)}
        (self._state / "pid" / name).write_text(json.dumps(record))
        return child

    def pid(self, name):
        """The pid of a recorded process that still runs, else None."""
        try:
            record = json.loads((self._state / "pid" / name).read_text())
        except (OSError, ValueError):
            return None
        alive = record["start"] is not None and start_ticks(record["pid"]) == record["start"]
        return record["pid"] if alive else None

    def names(self):
        return sorted(entry.name for entry in (self._state / "pid").iterdir())

    def stop(self, name, grace_seconds=5):
        pid = self.pid(name)
        if pid is not None:
            stop_pid(pid, start_ticks(pid), grace_seconds)
        (self._state / "pid" / name).unlink(missing_ok=True)

    def log_tail(self, name, lines=15):
        try:
            return "\n".join((self._state / "log" / f"{name}.log").read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return ""


def stop_pid(pid, ticks, grace_seconds=5):
    """SIGTERM, then SIGKILL after the grace. Only while the pid is still the same process."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + grace_seconds
        try:
            if start_ticks(pid) != ticks:
                return
            os.kill(pid, number)
        except ProcessLookupError:
            return
        while time.monotonic() < deadline:
            try:
                os.waitpid(pid, os.WNOHANG)  # only our own children need reaping
            except ChildProcessError:
                pass
            if start_ticks(pid) != ticks:
                return
            time.sleep(0.05)


def wait_for(what, check, seconds, interval=0.1, on_timeout=lambda: ""):
    """Calls check() until it returns something true, and returns that."""
    deadline = time.monotonic() + seconds
    while True:
        result = check()
        if result:
            return result
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds} s\n{on_timeout()}".rstrip())
        time.sleep(interval)
