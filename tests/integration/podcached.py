"""The real server as a child of a test: started on free ports, looked at through /proc, always stopped.

The binaries come from the environment: PODCACHED, PODCACHECTL. PODCACHE_SANITIZED says that figures of memory mean nothing,
PODCACHE_CORE_ONLY that the server was built without HTTP and gRPC.
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools/lib"))

from child_server import ChildServer, free_port  # noqa: E402

PODCACHED = os.environ.get("PODCACHED", os.path.join(TOP, "build/dev/bin/podcached"))
PODCACHECTL = os.environ.get("PODCACHECTL", os.path.join(os.path.dirname(PODCACHED), "podcachectl"))
SANITIZED = bool(os.environ.get("PODCACHE_SANITIZED"))
WAIT_SECONDS = 30

CORE_ONLY = os.environ.get("PODCACHE_CORE_ONLY") == "ON"

SANITIZER_REPORT = re.compile(r"Sanitizer: |^\S+: runtime error: ", re.M)

needs_side_doors = unittest.skipIf(CORE_ONLY, "built without HTTP and gRPC")
needs_real_memory = unittest.skipIf(SANITIZED, "memory of a sanitized build says nothing")


def wait_until(condition, what, seconds=WAIT_SECONDS):
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError("not within %d s: %s" % (seconds, what))
        time.sleep(0.01)


class Client:
    """A text connection that reads replies as they are asked for."""

    def __init__(self, sock):
        self.socket = sock
        self.socket.settimeout(WAIT_SECONDS)
        self.received = b""

    def send(self, data):
        self.socket.sendall(data)

    def receive(self, size):
        while len(self.received) < size:
            piece = self.socket.recv(1 << 20)
            if not piece:
                break
            self.received += piece
        data, self.received = self.received[:size], self.received[size:]
        return data

    def until(self, end):
        """Everything up to and with `end`; what there is when the server closed."""
        # Each byte is looked at once: answers of 20 MB come in small pieces.
        data, self.received = bytearray(self.received), b""
        searched = 0
        try:
            while (at := data.find(end, searched)) < 0:
                searched = max(0, len(data) - len(end) + 1)
                piece = self.socket.recv(1 << 20)
                if not piece:
                    at = len(data)
                    break
                data += piece
        except OSError:
            self.received = bytes(data)
            raise
        at = min(at + len(end), len(data))
        self.received = bytes(data[at:])
        return bytes(data[:at])

    def line(self):
        return self.until(b"\r\n")

    def ask(self, data):
        self.send(data)
        return self.line()

    def set(self, key, value):
        return self.ask(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value))

    def get(self, key):
        """The value, or None."""
        head = self.ask(b"get %s\r\n" % key)
        if head == b"END\r\n":
            return None
        size = int(head.split()[3])
        value = self.receive(size + 2 + 5)
        assert value[size:] == b"\r\nEND\r\n", (head, value[-20:])
        return value[:size]

    def stats(self, family=b""):
        self.send(b"stats %s\r\n" % family if family else b"stats\r\n")
        return {name.decode(): value.decode() for name, value in
                re.findall(rb"STAT (\S+) (.*)\r\n", self.until(b"END\r\n"))}

    def closed(self):
        """True once the server has ended the connection; what it sent before is kept."""
        try:
            while True:
                piece = self.socket.recv(1 << 16)
                if not piece:
                    return True
                self.received += piece
        except ConnectionResetError:
            return True
        except socket.timeout:
            return False

    def until_end(self):
        """All that the server sent; a reset is an error."""
        while True:
            piece = self.socket.recv(1 << 16)
            if not piece:
                data, self.received = self.received, b""
                return data
            self.received += piece

    def close(self):
        self.socket.close()


class Server:
    """with Server("-m", "64") as server: …"""

    def __init__(self, *options, env=None, admin=False, http=False, tcp=True, before_exec=None, wait=True,
                 readable_by_all=False):
        self.folder = tempfile.mkdtemp(prefix="podcache-it-")
        if readable_by_all:
            os.chmod(self.folder, 0o777)
        self.port_file = os.path.join(self.folder, "ports")
        self.admin_socket = os.path.join(self.folder, "admin.sock")
        self.http_port = free_port() if http else 0
        command = [PODCACHED, "-u", "root"]
        if tcp:
            command += ["-p", "-1"]
        command.append("--http-listen=127.0.0.1:%d" % self.http_port if http else "--http-listen=off")
        command.append("--admin-listen=unix:" + self.admin_socket if admin else "--admin-listen=off")
        environment = dict(os.environ, MEMCACHED_PORT_FILENAME=self.port_file)
        environment.pop("PODCACHE_POD_CONFIG", None)
        environment.update(env or {})
        self.clients = []
        self.child = ChildServer(command + list(options), env=environment, preexec_fn=before_exec)
        self.process = self.child.process
        if wait:
            try:
                self.child.wait_until(lambda: os.path.exists(self.port_file), "port file", WAIT_SECONDS)
            except RuntimeError as failure:
                self.__exit__()
                raise AssertionError(str(failure)) from None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for client in self.clients:
            client.close()
        _, report = self.child.stop(WAIT_SECONDS)
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.child.killed:
            raise AssertionError("the server did not end on SIGTERM: " + report)
        if SANITIZER_REPORT.search(report):
            raise AssertionError("the server's sanitizer found something:\n" + report)

    def errors(self):
        return self.child.said()

    def ports(self):
        with open(self.port_file) as ports:
            return dict(re.findall(r"TCP (INET6?): (\d+)", ports.read()))

    @property
    def port(self):
        return int(self.ports()["INET"])

    @property
    def pid(self):
        return self.process.pid

    def connect(self, receive_buffer=None):
        sock = socket.socket()
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.settimeout(WAIT_SECONDS)
        sock.connect(("127.0.0.1", self.port))
        return self.keep(Client(sock))

    def connect_unix(self, path):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(path)
        return self.keep(Client(sock))

    def keep(self, client):
        self.clients.append(client)
        return client

    def rss(self):
        with open("/proc/%d/statm" % self.pid) as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def threads(self):
        return len(os.listdir("/proc/%d/task" % self.pid))

    def control(self, *arguments, check=True):
        """podcachectl against the server's admin socket; its JSON."""
        wait_until(lambda: os.path.exists(self.admin_socket), "the admin socket")
        done = subprocess.run([PODCACHECTL, "-a", "unix:" + self.admin_socket, "-o", "json"] + list(arguments),
                              capture_output=True, text=True)
        if not check:
            return done
        if done.returncode != 0:
            raise AssertionError("podcachectl %s: %s" % (arguments, done.stderr))
        return json.loads(done.stdout) if done.stdout.strip().startswith("{") else done.stdout

    def signal_and_wait(self, number, seconds=10):
        """Exit code and how long it took."""
        start = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(seconds)
        return code, time.monotonic() - start


def run(*options, env=None):
    """A start that is expected to end by itself."""
    environment = dict(os.environ)
    environment.pop("PODCACHE_POD_CONFIG", None)
    environment.update(env or {})
    return subprocess.run([PODCACHED] + list(options), env=environment, capture_output=True, text=True, timeout=WAIT_SECONDS)


class Load:
    """Threads that set and get, and check every byte of every reply, until stopped."""

    def __init__(self, server, threads=4, keys=2000, value_bytes=400):
        self.errors = []
        self.operations = 0
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(server.connect(), number, keys, value_bytes))
                        for number in range(threads)]

    def work(self, client, number, keys, value_bytes):
        count = 0
        try:
            while not self.stopping.is_set():
                count += 1
                key = b"load-%d-%d" % (number, count % keys)
                value = (b"%s=" % key) * (1 + (value_bytes + count % 100) // (len(key) + 1))
                if count % 50 == 0:
                    value *= 200  # Now and then one that does not fit a read.
                reply = client.set(key, value)
                if reply != b"STORED\r\n":
                    raise AssertionError("set: %r" % reply)
                found = client.get(key)
                if found is not None and found != value:
                    raise AssertionError("get %r: %d bytes instead of %d" % (key, len(found), len(value)))
                batch = b"".join(b"get load-%d-%d\r\n" % (number, k) for k in range(count % 20))
                client.send(batch)
                for _ in range(count % 20):
                    if not client.until(b"END\r\n").endswith(b"END\r\n"):
                        raise AssertionError("a pipeline broke off")
                self.operations += 2 + count % 20
        except Exception as error:  # Every kind of failure counts.
            self.errors.append("client %d, round %d: %r" % (number, count, error))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *unused):
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def progress(self, operations, seconds=WAIT_SECONDS):
        """Waits for so much more work to be done."""
        goal = self.operations + operations
        wait_until(lambda: self.operations >= goal or self.errors, "progress of the load", seconds)
