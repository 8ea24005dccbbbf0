"""Waits for what the cluster will say, with a deadline and a reason."""
import time

from cluster_lib.processes import wait_for  # noqa: F401  (re-exported)


def stays(what, check, seconds, interval=0.2):
    """Calls check() for the whole time; it must be true each time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not check():
            raise AssertionError(f"{what}: did not stay so for {seconds} s")
        time.sleep(interval)
