"""Moves this process into a cluster's network, so that pod and Service addresses are reachable from it."""
import ctypes
import os

CLONE_NEWNET = 0x40000000


def enter(name):
    """For the calling thread, its later threads and child processes. Until the process ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    handle = os.open(f"/run/netns/{name}", os.O_RDONLY)
    try:
        if libc.setns(handle, CLONE_NEWNET) != 0:
            error = ctypes.get_errno()
            raise OSError(error, f"entering network {name}: {os.strerror(error)}")
    finally:
        os.close(handle)
