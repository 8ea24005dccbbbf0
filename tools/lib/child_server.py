"""A server as a child process of a test or a measurement: started, awaited at its address, stopped by its process id.

An address is the path of a Unix socket, or (host, port).
"""
import os
import shlex
import signal
import socket
import subprocess
import tempfile
import time

START_SECONDS = 60  # With sanitizers, on a loaded machine.
STOP_SECONDS = 30


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def connect(address, timeout=None):
    if isinstance(address, str):
        connection = socket.socket(socket.AF_UNIX)
    else:
        connection = socket.socket()
    try:
        connection.settimeout(timeout)
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


class ChildServer:
    """What it says goes into a file that ends with it; `more` is for Popen. Stopped by whoever started it."""

    def __init__(self, command, **more):
        self.command = command
        self.log = tempfile.NamedTemporaryFile(prefix="podcache-server-", suffix=".log")
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, **more)
        self.killed = False  # It did not end when it was asked to.
        self.last_words = ""

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def said(self):
        if self.log.closed:
            return self.last_words
        with open(self.log.name, errors="replace") as log:
            return log.read()

    def wait_until(self, ready, what, seconds=START_SECONDS, period_seconds=0.01):
        """Stops it and raises if that does not come, or it has ended before."""
        end = time.monotonic() + seconds
        while not ready():
            if not self.alive() or time.monotonic() > end:
                said, code = self.said()[-2000:], self.process.poll()
                self.stop()
                raise RuntimeError("%s: no %s; exit code %s: %s" % (shlex.join(self.command), what, code, said))
            time.sleep(period_seconds)

    def wait_listening(self, address, seconds=START_SECONDS):
        def listens():
            try:
                connect(address, seconds).close()
                return True
            except OSError:
                return False
        self.wait_until(listens, "server at %s" % (address,), seconds)

    def signal(self, number=signal.SIGTERM):
        if self.alive():
            self.process.send_signal(number)

    def stop(self, seconds=STOP_SECONDS):
        """Its exit code and all it said. Killed if it does not end on SIGTERM. May be called again."""
        self.signal()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.killed = True
            self.process.kill()
            self.process.wait()
        self.last_words = self.said()
        self.log.close()
        return self.process.returncode, self.last_words


def as_root():
    """memcached's option, which root has to give."""
    return ["-u", "root"] if os.geteuid() == 0 else []
