"""The arm64 podcached of the image answers the protocol, under emulation. Needs tools/images to have run.

qemu is named explicitly, since binfmt_misc may be absent; its library folder is the image's own root, so what runs is
exactly what the image holds.
"""
import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "build" / "images" / "podcached" / "arm64"
EMULATOR = ["qemu-aarch64-static", "-L", str(ROOT)]
USER = 65532
START_SECONDS = 60  # emulation is slow to start a program with many libraries


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Arm64(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        # As in the container: the server refuses to be root.
        as_user = {"user": USER, "group": USER} if os.geteuid() == 0 else {}
        os.chown(cls.folder, as_user.get("user", -1), -1)
        cls.http_port = free_port()
        cls.log = open(f"{cls.folder}/log", "w+")
        cls.server = subprocess.Popen(
            [*EMULATOR, str(ROOT / "podcached"), "-s", f"{cls.folder}/cache.sock", "-U", "0", "-m", "64", "-t", "2",
             f"--http-listen=127.0.0.1:{cls.http_port}", f"--admin-listen=unix:{cls.folder}/admin.sock"],
            stdout=cls.log, stderr=cls.log, **as_user)
        deadline = time.monotonic() + START_SECONDS
        while not cls.ready():
            if cls.server.poll() is not None or time.monotonic() > deadline:
                cls.log.seek(0)
                raise RuntimeError(f"podcached for arm64 does not serve: exit {cls.server.poll()}\n{cls.log.read()}")
            time.sleep(0.1)

    @classmethod
    def tearDownClass(cls):
        if cls.server.poll() is None:
            cls.server.kill()
            cls.server.wait()
        cls.log.close()
        shutil.rmtree(cls.folder)

    @classmethod
    def ready(cls):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{cls.http_port}/readyz", timeout=5) as reply:
                return reply.status == 200
        except OSError:
            return False

    def setUp(self):
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.settimeout(30)
        self.connection.connect(f"{self.folder}/cache.sock")
        self.addCleanup(self.connection.close)

    def ask(self, request, expected):
        """Sends, and reads exactly as much as is expected."""
        self.connection.sendall(request)
        received = b""
        while len(received) < len(expected):
            part = self.connection.recv(len(expected) - len(received))
            if not part:
                break
            received += part
        self.assertEqual(received, expected)

    def stats(self):
        self.connection.sendall(b"stats\r\n")
        received = b""
        while not received.endswith(b"END\r\n"):
            received += self.connection.recv(65536)
        return dict(line.split(" ", 2)[1:] for line in received.decode().splitlines()[:-1])

    def test_1_storage_commands(self):
        self.ask(b"set a 5 0 3\r\nabc\r\n", b"STORED\r\n")
        self.ask(b"get a\r\n", b"VALUE a 5 3\r\nabc\r\nEND\r\n")
        self.ask(b"add a 0 0 1\r\nx\r\n", b"NOT_STORED\r\n")
        self.ask(b"append a 0 0 2\r\nde\r\n", b"STORED\r\n")
        self.ask(b"prepend a 0 0 1\r\n_\r\n", b"STORED\r\n")
        self.ask(b"get a missing\r\n", b"VALUE a 5 6\r\n_abcde\r\nEND\r\n")
        self.ask(b"replace missing 0 0 1\r\nx\r\n", b"NOT_STORED\r\n")
        self.ask(b"delete a\r\n", b"DELETED\r\n")
        self.ask(b"get a\r\n", b"END\r\n")

    def test_2_numbers_and_touch(self):
        self.ask(b"set n 0 0 2\r\n10\r\n", b"STORED\r\n")
        self.ask(b"incr n 18446744073709551606\r\n", b"0\r\n")  # 2^64 wraps around
        self.ask(b"decr n 5\r\n", b"0\r\n")
        self.ask(b"touch n 100\r\n", b"TOUCHED\r\n")
        self.ask(b"touch missing 100\r\n", b"NOT_FOUND\r\n")

    def test_3_large_value(self):
        value = bytes(range(256)) * 2048  # 512 KiB
        self.ask(b"set big 0 0 %d\r\n" % len(value) + value + b"\r\n", b"STORED\r\n")
        self.ask(b"get big\r\n", b"VALUE big 0 %d\r\n" % len(value) + value + b"\r\nEND\r\n")

    def test_4_garbage(self):
        self.ask(b"this is no command\r\n", b"ERROR\r\n")
        self.ask(b"set b 0 0 1\r\nx\r\n", b"STORED\r\n")

    def test_5_pipelined(self):
        count = 500
        requests = b"".join(b"set k%d 0 0 4\r\n%04d\r\n" % (i, i) for i in range(count))
        self.ask(requests, b"STORED\r\n" * count)
        names = b" ".join(b"k%d" % i for i in range(count))
        self.ask(b"get " + names + b"\r\n", b"".join(b"VALUE k%d 0 4\r\n%04d\r\n" % (i, i) for i in range(count)) + b"END\r\n")

    def test_6_stats_and_metrics(self):
        stats = self.stats()
        self.assertEqual(stats["limit_maxbytes"], str(64 * 2**20))
        self.assertEqual(stats["threads"], "2")
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/metrics", timeout=30) as reply:
            self.assertIn(f"memcached_limit_bytes {64 * 2**20}", reply.read().decode())

    def test_7_control_tool_of_the_same_image(self):
        shown = subprocess.run([*EMULATOR, str(ROOT / "podcachectl"), "--address", f"unix:{self.folder}/admin.sock", "info"],
                               text=True, capture_output=True, timeout=120)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("arm64", shown.stdout)

    def test_8_stops_cleanly(self):
        self.server.terminate()
        self.assertEqual(self.server.wait(timeout=30), 0)


if __name__ == "__main__":
    unittest.main()
