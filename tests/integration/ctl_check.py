"""podcachectl against a real server on its admin socket: what it reports, what it changes, and what the cache itself then says.

  ctl_check.py PATH_OF_PODCACHED PATH_OF_PODCACHECTL
"""
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

SERVER = CTL = None
MIB = 1 << 20


class CtlCheck(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.cache, self.admin = f"{self.folder}/cache.sock", f"{self.folder}/admin.sock"
        user = ["-u", "root"] if os.getuid() == 0 else []
        self.process = subprocess.Popen([SERVER, "-s", self.cache, "--http-listen=off", f"--admin-listen=unix:{self.admin}", "-m", "64",
                                         "-t", "1", *user])
        deadline = time.monotonic() + 60
        while self.ctl("info").returncode != 0:
            self.assertIsNone(self.process.poll())
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        self.client = socket.socket(socket.AF_UNIX)
        self.client.settimeout(30)
        self.client.connect(self.cache)
        self.input = self.client.makefile("rb")
        self.addCleanup(self.client.close)
        self.addCleanup(self.input.close)

    def tearDown(self):
        self.process.terminate()
        self.assertEqual(self.process.wait(timeout=30), 0)

    def ctl(self, *arguments):
        return subprocess.run([CTL, "--address", f"unix:{self.admin}", *arguments], text=True, capture_output=True, timeout=120)

    def ask(self, request):
        self.client.sendall(request)
        return self.input.readline()

    def stats(self):
        line, values = self.ask(b"stats\r\n"), {}
        while line != b"END\r\n":
            _, key, value = line.decode().split(None, 2)
            values[key] = value.strip()
            line = self.input.readline()
        return values

    def fill(self, mebibytes):
        """Items of 100 kB, more of them than fit if so wanted."""
        for i in range(mebibytes * MIB // 100_000):
            self.assertEqual(self.ask(b"set fill%d 0 0 100000\r\n" % i + b"v" * 100_000 + b"\r\n"), b"STORED\r\n")

    def test_the_socket_is_for_its_owner_alone(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.admin).st_mode), 0o600)

    def test_info_agrees_with_the_cache(self):
        info = json.loads(self.ctl("info", "-o", "json").stdout)
        stats = self.stats()
        self.assertEqual(info["pid"], int(stats["pid"]))
        self.assertEqual(info["config"]["memory"]["limit_bytes"], int(stats["limit_maxbytes"]))
        self.assertEqual(info["config"]["threads"]["running"], int(stats["threads"]))
        self.assertEqual(info["page_size_bytes"], os.sysconf("SC_PAGESIZE"))
        self.assertEqual(info["sizing"]["source"], "EXPLICIT")

    def test_memory_grows_and_shrinks_and_resident_memory_follows(self):
        self.assertEqual(self.ctl("set", "memory", "256Mi").returncode, 0)
        self.assertEqual(self.stats()["limit_maxbytes"], str(256 * MIB))
        self.fill(180)
        full = json.loads(self.ctl("info", "-o", "json").stdout)
        self.assertGreater(full["resident_memory_bytes"], 180 * MIB)
        shrunk = self.ctl("set", "memory", "64Mi", "-o", "json")
        self.assertEqual(shrunk.returncode, 0, shrunk.stderr)
        last = json.loads(shrunk.stdout.splitlines()[-1])
        self.assertTrue(last["done"])
        self.assertEqual(last["memory_limit_bytes"], 64 * MIB)
        self.assertGreater(last["items_evicted"], 1000)
        after = json.loads(self.ctl("info", "-o", "json").stdout)
        # What was given up is back with the kernel: the fall is that of the limit, less what was not filled.
        self.assertLess(after["resident_memory_bytes"], full["resident_memory_bytes"] - 100 * MIB)
        self.assertEqual(self.stats()["limit_maxbytes"], str(64 * MIB))

    def test_threads_change_while_a_client_is_connected(self):
        for count in (4, 2, 3, 1):
            changed = self.ctl("set", "threads", str(count))
            self.assertEqual(changed.returncode, 0, changed.stderr)
            self.assertEqual(self.stats()["threads"], str(count))
            self.assertEqual(self.ask(b"set k 0 0 1\r\nx\r\n"), b"STORED\r\n")

    def test_out_of_range_changes_nothing(self):
        before = self.ctl("info", "-o", "json").stdout
        for command, named in ((("set", "memory", "1Ki"), "memory.target_bytes = 1024"), (("set", "memory", "60Ti"), "memory.target_bytes"),
                               (("set", "threads", "5000"), "threads.target = 5000")):
            refused = self.ctl(*command)
            self.assertEqual(refused.returncode, 1)
            self.assertIn(named, refused.stderr)
        self.assertEqual(json.loads(before)["config"], json.loads(self.ctl("info", "-o", "json").stdout)["config"])

    def test_flush_and_stats(self):
        self.assertEqual(self.ask(b"set k 0 0 1\r\nx\r\n"), b"STORED\r\n")
        self.assertEqual(self.ctl("flush").stdout, "flushed\n")
        self.assertEqual(self.ask(b"get k\r\n"), b"END\r\n")
        stats = json.loads(self.ctl("stats", "-o", "json").stdout)
        self.assertEqual((stats["cmd_set"], stats["cmd_get"], stats["get_hits"], stats["get_misses"]), (1, 1, 0, 1))

    def test_top_once(self):
        shown = self.ctl("top", "--once")
        self.assertEqual(len(shown.stdout.splitlines()), 2)
        self.assertIn("64Mi", shown.stdout)

    def test_nobody_there(self):
        missing = subprocess.run([CTL, "--address", f"unix:{self.folder}/none", "info"], text=True, capture_output=True, timeout=60)
        self.assertEqual(missing.returncode, 3)
        self.assertIn("there is no socket", missing.stderr)


if __name__ == "__main__":
    SERVER, CTL = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
    unittest.main()
