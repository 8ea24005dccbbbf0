"""Where the servers are, and what all suites share."""
import os
import socket
import time

TCP = os.environ["PODCACHE_TCP"]
UNIX = os.environ["PODCACHE_UNIX"]
HOST, PORT = TCP.split(":")[0], int(TCP.split(":")[1])
# Below and above the default limit of an item, 1 MiB with key and header.
LARGE = bytes(range(256)) * 4000
TOO_LARGE = bytes(range(256)) * 5000


def restart_server():
    with socket.create_connection(("127.0.0.1", int(os.environ["PODCACHE_CONTROL"]))) as control:
        line = control.makefile().readline()
        assert line == "done\n", line


def wait_for_items(count, read, seconds=30):
    """read() gives curr_items; what was flushed may be counted a little longer. Returns the last number read."""
    end = time.monotonic() + seconds
    while (items := int(read())) != count and time.monotonic() < end:
        pass
    return items
