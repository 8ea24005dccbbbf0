"""An open loop while something about the server is changed: what clients feel, and how much the hypervisor took of the time.

Latencies are of all requests of those seconds, from when they were due. On a busy host the tails are the host's: so each phase tells the
share of all processors' time that was stolen, and of phases that are repeated the one with the least of it counts.
"""
import threading
import time

from . import client, machine

BEFORE_SECONDS = 0.5
WARM_UP_SECONDS = 0.2
NAMES = ("p50", "p99", "p99.9", "max")


class Disturbance(threading.Thread):
    """Does `act` a moment after it was started; `act` is given an event that tells when the load has ended."""

    def __init__(self, act):
        super().__init__()
        self.act = act
        self.over = threading.Event()
        self.result = None
        self.failure = None

    def run(self):
        try:
            time.sleep(BEFORE_SECONDS)
            self.result = self.act(self.over)
        except (RuntimeError, OSError) as failure:
            self.failure = failure


def under_load(server, cpus, act=None, errors_allowed=False, warm_up=WARM_UP_SECONDS, **load):
    """Percentiles in µs with `requests`, `errors`, `unanswered` and `steal`, and what `act` returned."""
    disturbance = Disturbance(act) if act else None
    shares = machine.CpuShares()
    try:
        if disturbance:
            disturbance.start()
        report = client.run("latency", server, cpus, errors_allowed=errors_allowed, warm_up=warm_up, **load)
    finally:
        steal = shares.elapsed()["steal"]
        if disturbance:
            disturbance.over.set()
            disturbance.join()
    if disturbance and disturbance.failure:
        raise disturbance.failure
    figures = report["latency_us"] | {name: report[name] for name in ("requests", "errors", "unanswered")} | {"steal": steal}
    return figures, disturbance and disturbance.result


def quietest(rounds):
    return min(rounds, key=lambda figures: figures["steal"])


def percent(share):
    return f"{share * 100:.1f} %"


def cells(figures):
    return (*(f"{figures[name]:.0f}" for name in NAMES), percent(figures["steal"]))


def chosen(rounds):
    """For the head of a table."""
    return f"; of {rounds} rounds, for each phase, the one with the least stolen by the hypervisor" if rounds > 1 else ""
