"""The servers of a measurement: started pinned on a free port or a Unix socket, stopped by their process id."""
import os
import re
import shutil
import subprocess
import tempfile

from child_server import ChildServer, as_root, connect, free_port

from .places import BIN, TOP

PEER_TOOL = os.path.join(TOP, "tools/memcached-peer")
START_SECONDS = 20


class Kind:
    """How a sort of server is called: command(where, threads, memory_mb, value_bytes) and its environment."""

    def __init__(self, name, command, has_store=True, environment=None):
        self.name = name
        self.command = command
        self.has_store = has_store  # Needs filling; its hits and values mean something.
        self.environment = environment or (lambda value_bytes: {})

    def version(self):
        return ""


class Memcached(Kind):
    def __init__(self, name="memcached", extra=()):
        def command(where, threads, memory_mb, _):
            return [PEER_TOOL, "run", *where, "-t", str(threads), "-m", str(memory_mb), "-c", "16384", *extra]
        super().__init__(name, command)

    def version(self):
        subprocess.run([PEER_TOOL, "fetch"], check=True, stdout=subprocess.DEVNULL)
        return subprocess.run([PEER_TOOL, "run", "-V"], check=True, capture_output=True, text=True).stdout.strip()


class Podcached(Kind):
    def __init__(self, name="podcached", binary=None, admin="off", extra=(), **more):
        self.binary = binary or os.path.join(BIN, name)

        def command(where, threads, memory_mb, _):
            return [self.binary, *where, "-t", str(threads), "-m", str(memory_mb), "-c", "16384", *as_root(),
                    "--http-listen", "off", "--admin-listen", admin, *extra]
        super().__init__(name, command, **more)

    def version(self):
        return subprocess.run([self.binary, "-V"], check=True, capture_output=True, text=True).stdout.strip()


def stub():
    def command(where, threads, _, value_bytes):
        return [os.path.join(BIN, "bench-stub"), *[word for word in where if word not in ("-l", "127.0.0.1")],
                "-t", str(threads), "--value-bytes", str(value_bytes)]
    return Kind("stub", command, has_store=False)


def no_engine():
    return Podcached("podcached-no-engine", has_store=False,
                     environment=lambda value_bytes: {"PODCACHE_STUB_VALUE_BYTES": str(value_bytes)})


def peer(name):
    """memcached, memcached-tuned, or the path of another podcached."""
    if name == "memcached":
        return Memcached()
    if name == "memcached-tuned":
        return Memcached(name, extra=("-R", "1000"))
    if os.access(name, os.X_OK):
        return Podcached("other podcached", binary=os.path.abspath(name))
    raise RuntimeError(f"no peer '{name}': memcached, memcached-tuned or the path of a podcached")


class Server:
    """A running server; a context manager that always stops it."""

    def __init__(self, kind, cpus, threads=1, memory_mb=1024, value_bytes=128, unix=False, wait=True):
        self.kind = kind
        self.folder = tempfile.mkdtemp(prefix="podcache-bench.")
        if unix:
            self.place = os.path.join(self.folder, "socket")
            where, self.address = ["-s", self.place], f"unix:{self.place}"
        else:
            self.place = ("127.0.0.1", free_port())
            where, self.address = ["-l", self.place[0], "-p", str(self.place[1])], "%s:%d" % self.place
        command = kind.command(where, threads, memory_mb, value_bytes)
        self.child = ChildServer(command, env={**os.environ, **kind.environment(value_bytes)},
                                 preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        if not wait:
            return
        try:
            self.child.wait_listening(self.place, START_SECONDS)
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self):
        return self.child.pid

    def connect(self):
        return connect(self.place)

    def resident_bytes(self):
        with open(f"/proc/{self.pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+) kB", file.read())[1]) * 1024

    def stop(self):
        self.child.stop(10)
        self.close()

    def close(self):
        """After it has been stopped."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
