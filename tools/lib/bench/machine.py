"""What the machine is, how busy it is, and the one setting of it that measurements depend on."""
import contextlib
import os
import platform
import subprocess

from .places import TOP

CONGESTION = "/proc/sys/net/ipv4/tcp_congestion_control"


def cpu_model():
    fields = {}
    with open("/proc/cpuinfo") as file:
        for line in file:
            name, _, value = line.partition(":")
            fields.setdefault(name.strip(), value.strip())
            if not line.strip():
                break
    text = fields.get("model name", platform.machine())
    if "cpu family" in fields:
        text += f" (family {fields['cpu family']} model {fields['model']})"
    return text


def revision():
    """The commit, with a + where something has been changed since."""
    git = subprocess.run(["git", "-C", TOP, "describe", "--always", "--dirty=+"], capture_output=True, text=True)
    return git.stdout.strip() or "unknown"


def description():
    return {
        "revision": revision(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "load_average": round(os.getloadavg()[0], 2),
    }


class CpuShares:
    """Shares of all processors' time since it was made: stolen by the hypervisor, and used by anybody."""

    def __init__(self):
        self.before = self.read()

    @staticmethod
    def read():
        with open("/proc/stat") as file:
            ticks = [int(n) for n in file.readline().split()[1:9]]
        idle, steal, total = ticks[3] + ticks[4], ticks[7], sum(ticks)
        return steal, total - idle - steal, total

    def elapsed(self):
        steal, busy, total = (now - then for now, then in zip(self.read(), self.before))
        total = max(total, 1)
        return {"steal": steal / total, "busy_us": busy * 1e6 / os.sysconf("SC_CLK_TCK")}


@contextlib.contextmanager
def congestion_control(wanted="cubic"):
    """The same for every server of a run, and put back afterwards. Yields what is in force."""
    with open(CONGESTION) as file:
        before = file.read().strip()
    changed = False
    if before != wanted:
        try:
            with open(CONGESTION, "w") as file:
                file.write(wanted)
            changed = True
        except OSError as error:
            print(f"   congestion control stays {before}: {error}")
    try:
        yield wanted if changed or before == wanted else before
    finally:
        if changed:
            with open(CONGESTION, "w") as file:
                file.write(before)


def parse_cpus(text):
    """"0-2,4" → {0, 1, 2, 4}."""
    cpus = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def default_cpus(server_threads):
    """Servers on the first cores, the client on the last: apart where there are enough."""
    cores = sorted(os.sched_getaffinity(0))
    return set(cores[:server_threads]), {cores[-1]}
