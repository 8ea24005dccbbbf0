"""Memory and threads change while clients work; the cgroup has the last word."""
import os
import shutil
import subprocess
import time
import unittest

from podcached import PODCACHECTL, SANITIZED, Load, Server, needs_real_memory, run, wait_until

MIB = 1 << 20


class Cgroup:
    """An own control group for the child processes of a test, on v1 or v2."""

    def __init__(self, memory=None, cpus=None):
        self.folders = []
        self.memory_folder = None
        name = "podcache-test-%d" % os.getpid()
        with open("/proc/self/cgroup") as own:
            paths = {controller: path.strip() for _, controllers, path in (line.split(":", 2) for line in own)
                     for controller in controllers.split(",")}
        self.v1 = "memory" in paths
        for controller, wanted in (("memory", memory), ("cpu", cpus)):
            if wanted is None:
                continue
            top = ("/sys/fs/cgroup/" + controller if self.v1 else "/sys/fs/cgroup") + paths[controller if self.v1 else ""]
            folder = os.path.join(top, name)
            if folder not in self.folders:
                os.makedirs(folder, exist_ok=True)
                self.folders.append(folder)
            if controller == "memory":
                self.memory_folder = folder
                self.set_memory(wanted)
            elif self.v1:
                self.write(folder, "cpu.cfs_period_us", 100000)
                self.write(folder, "cpu.cfs_quota_us", int(wanted * 100000))
            else:
                self.write(folder, "cpu.max", "%d 100000" % int(wanted * 100000))

    @staticmethod
    def write(folder, name, value):
        with open(os.path.join(folder, name), "w") as target:
            target.write(str(value))

    def set_memory(self, size):
        self.write(self.memory_folder, "memory.limit_in_bytes" if self.v1 else "memory.max", size)

    def enter(self):
        """In a child, before it becomes the server."""
        for folder in self.folders:
            self.write(folder, "cgroup.procs", os.getpid())

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for folder in self.folders:
            wait_until(lambda folder=folder: self.remove(folder), "the group to be empty")

    @staticmethod
    def remove(folder):
        try:
            os.rmdir(folder)
            return True
        except OSError:
            return False


def cgroups_usable():
    try:
        with Cgroup(memory=512 * MIB, cpus=1):
            return True
    except (OSError, KeyError):
        return False


needs_cgroups = unittest.skipUnless(cgroups_usable(), "no control groups to be made here")
needs_control = unittest.skipUnless(os.path.exists(PODCACHECTL), "podcachectl is not built")


class LiveMemory(unittest.TestCase):
    def test_grows_and_shrinks_under_load_without_an_error(self):
        with Server("-m", "64", "-t", "2") as server, Load(server, keys=20000) as load:
            admin = server.connect()
            for step, megabytes in enumerate((256, 24, 128, 16, 96)):
                load.progress(3000)
                start = time.monotonic()
                self.assertEqual(admin.ask(b"cache_memlimit %d\r\n" % megabytes), b"OK\r\n")
                wait_until(lambda: admin.stats()["limit_maxbytes"] == str(megabytes * MIB), "the limit")
                print("to %d MB: %.3f s" % (megabytes, time.monotonic() - start))
                if step == 1 and not SANITIZED:
                    wait_until(lambda: server.rss() < (24 + 40) * MIB, "the memory to go back")
            load.progress(1000)
        self.assertEqual(load.errors, [])

    @needs_real_memory
    def test_a_filled_cache_gives_its_memory_back(self):
        with Server("-m", "512", "-t", "1") as server:
            client = server.connect()
            empty = server.rss()
            value = b"m" * 900
            for number in range(600000):
                client.send(b"set k%d 0 0 900 noreply\r\n%s\r\n" % (number, value))
            client.ask(b"version\r\n")
            full = server.rss()
            self.assertGreater(full, 450 * MIB)
            start = time.monotonic()
            self.assertEqual(client.ask(b"cache_memlimit 64\r\n"), b"OK\r\n")
            wait_until(lambda: client.stats()["limit_maxbytes"] == str(64 * MIB), "the limit")
            took = time.monotonic() - start
            after = server.rss()
            print("512 → 64 MB in %.3f s, RSS %d → %d MiB (empty: %d)" % (took, full >> 20, after >> 20, empty >> 20))
            self.assertLess(after, empty + 70 * MIB)
            # What was stored last is still there.
            self.assertEqual(client.get(b"k599999"), value)

    def test_refuses_what_cannot_be(self):
        with Server("-m", "64") as server:
            client = server.connect()
            self.assertTrue(client.ask(b"cache_memlimit 1\r\n").startswith(b"MEMLIMIT_TOO_SMALL"))
            self.assertTrue(client.ask(b"cache_memlimit 2000000000\r\n").startswith(b"MEMLIMIT_ADJUST_FAILED"))
            self.assertEqual(client.stats()["limit_maxbytes"], str(64 * MIB))


@needs_control
class LiveThreads(unittest.TestCase):
    def test_come_and_go_under_load_without_an_error(self):
        with Server("-m", "64", "-t", "1", admin=True) as server, Load(server, threads=6) as load:
            idle = [server.connect() for _ in range(100)]
            upload = server.connect()
            upload.send(b"set up 0 0 900000\r\n" + b"u" * 100000)
            for threads in (8, 1, 4, 2, 8, 1):
                start = time.monotonic()
                server.control("set", "threads", str(threads))
                self.assertEqual(server.connect().stats()["threads"], str(threads))
                print("to %d threads: %.3f s with podcachectl" % (threads, time.monotonic() - start))
                load.progress(500)
            upload.send(b"u" * 800000 + b"\r\n")
            self.assertEqual(upload.line(), b"STORED\r\n")
            for client in idle:
                self.assertTrue(client.ask(b"version\r\n").startswith(b"VERSION"))
        self.assertEqual(load.errors, [])

    def test_refusals_name_the_range(self):
        with Server(admin=True) as server:
            for arguments in (("set", "threads", "1000"), ("set", "memory", "1k")):
                done = server.control(*arguments, check=False)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("between", done.stderr + done.stdout)


@needs_cgroups
class InACgroup(unittest.TestCase):
    def test_explicit_memory_that_cannot_fit_is_refused_naming_both_numbers(self):
        with Cgroup(memory=128 * MIB) as group:
            with self.assertRaises(AssertionError) as refused:
                Server("-m", "128", before_exec=group.enter)
            self.assertIn(str(128 * MIB) + " bytes does not fit the cgroup memory limit of " + str(128 * MIB),
                          str(refused.exception))
            with Server("-m", "64", before_exec=group.enter) as server:
                self.assertEqual(server.connect().stats()["limit_maxbytes"], str(64 * MIB))

    def test_memory_and_threads_come_from_the_cgroup(self):
        with Cgroup(memory=256 * MIB, cpus=1) as group, Server(before_exec=group.enter) as server:
            stats = server.connect().stats()
            # (256 − 32) / 1.25
            self.assertEqual(int(stats["limit_maxbytes"]), (256 - 32) * MIB * 100 // 125)
            self.assertEqual(stats["threads"], "1")

    def test_pod_configuration_is_clamped_and_rises_with_the_cgroup(self):
        pod = ('{"version":1,"configHash":"h","memory":{"sizeBytes":%d},"threads":{"mode":"Fixed","count":2},"rules":'
               '[{"name":"r","memory":{"overheadPercent":10,"overheadFixedBytes":%d}}]}' % (200 * MIB, 40 * MIB))
        with Cgroup(memory=150 * MIB) as group, Server(env={"PODCACHE_POD_CONFIG": pod}, before_exec=group.enter) as server:
            client = server.connect()
            stats = client.stats()
            self.assertEqual(int(stats["limit_maxbytes"]), (150 - 40) * MIB * 100 // 110)
            self.assertEqual(stats["threads"], "2")
            group.set_memory(400 * MIB)
            wait_until(lambda: client.stats()["limit_maxbytes"] == str(200 * MIB), "the limit to rise")

    @needs_real_memory
    def test_a_lowered_cgroup_is_followed_at_once(self):
        pod = ('{"version":1,"memory":{"sizeBytes":%d},"rules":'
               '[{"name":"r","memory":{"overheadPercent":10,"overheadFixedBytes":%d}}]}' % (200 * MIB, 40 * MIB))
        with Cgroup(memory=400 * MIB) as group, Server(env={"PODCACHE_POD_CONFIG": pod}, before_exec=group.enter) as server:
            client = server.connect()
            for number in range(250000):
                client.send(b"set k%d 0 0 900 noreply\r\n%s\r\n" % (number, b"m" * 900))
            client.ask(b"version\r\n")
            self.assertGreater(server.rss(), 180 * MIB)
            # Somebody lowers the limit to what is used now with little to spare (v1 refuses less), then further in steps.
            start = time.monotonic()
            for limit in (230, 200, 172, 150):
                group.set_memory(limit * MIB)
                wait_until(lambda limit=limit: int(client.stats()["limit_maxbytes"]) <= (limit - 40) * MIB * 100 // 110, "the limit")
            print("followed four steps in %.3f s" % (time.monotonic() - start))
            self.assertLess(server.rss(), 150 * MIB)
            self.assertIsNone(server.process.poll())

    @needs_real_memory
    @needs_control
    def test_grow_beyond_the_cgroup_is_refused(self):
        with Cgroup(memory=256 * MIB) as group, Server(before_exec=group.enter, admin=True) as server:
            done = server.control("set", "memory", "250Mi", check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(str(256 * MIB), done.stderr + done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
