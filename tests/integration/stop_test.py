"""Signals, draining, the shutdown command, process 1."""
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest

from podcached import PODCACHED, SANITIZED, Load, Server, needs_side_doors, wait_until


# Says one thing before it sets anything up.
EARLY_WARNING = [PODCACHED, "-u", "root", "-p", "-1", "-m", "64", "-L", "--http-listen=off", "--admin-listen=off"]


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as children:
        return [int(child) for child in children.read().split()]


def answers(path):
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(path)
            client.sendall(b"mn\r\n")
            return client.recv(4) == b"MN\r\n"
    except OSError:
        return False


class FullPipe:
    """A pipe whose writer has to wait."""

    def __enter__(self):
        self.reader, self.end = os.pipe()
        os.set_blocking(self.end, False)
        try:
            while True:
                os.write(self.end, b"x" * 4096)
        except BlockingIOError:
            os.set_blocking(self.end, True)
        return self

    def __exit__(self, *unused):
        os.close(self.reader)
        os.close(self.end)

    def wait_until_blocked(self, pid):
        def in_write_to_stderr():
            with open("/proc/%d/syscall" % pid) as call:
                words = call.read().split()
            return words[1:2] == ["0x2"] and words[0] == str({"x86_64": 1, "aarch64": 64}[os.uname().machine])
        wait_until(in_write_to_stderr, "its first warning")


class Stopping(unittest.TestCase):
    # A sanitized build is slower by an order of magnitude.
    LIMIT_SECONDS = 10 if SANITIZED else 1.9

    def test_each_signal_ends_with_0(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            with self.subTest(signal=number), Server() as server:
                idle = server.connect()
                idle.ask(b"version\r\n")
                code, seconds = server.signal_and_wait(number)
                self.assertEqual(code, 0)
                self.assertLess(seconds, self.LIMIT_SECONDS)
                self.assertTrue(idle.closed())

    def test_hup_and_pipe_do_not_end_it(self):
        with Server() as server:
            for number in (signal.SIGHUP, signal.SIGPIPE):
                server.process.send_signal(number)
            client = server.connect()
            self.assertTrue(client.ask(b"version\r\n").startswith(b"VERSION"))
            self.assertIsNone(server.process.poll())

    def test_requests_in_flight_are_finished(self):
        with Server("-m", "64") as server:
            reader = server.connect(receive_buffer=8192)
            self.assertEqual(reader.set(b"big", b"b" * 900000), b"STORED\r\n")
            upload = server.connect()
            idle = server.connect()
            idle.ask(b"version\r\n")
            upload.send(b"set up 0 0 800000\r\n" + b"u" * 300000)
            reader.send(b"get big big big\r\n")
            reader.receive(1000)
            server.process.send_signal(signal.SIGTERM)
            self.assertTrue(idle.closed())
            upload.send(b"u" * 500000 + b"\r\n")
            self.assertEqual(upload.line(), b"STORED\r\n")
            self.assertTrue(upload.closed())
            rest = reader.until(b"END\r\n")
            self.assertEqual(1000 + len(rest), 3 * (len(b"VALUE big 0 900000\r\n") + 900002) + 5)
            self.assertEqual(server.process.wait(5), 0)

    def test_a_client_that_never_finishes_does_not_hold_it_up(self):
        with Server() as server:
            stuck = server.connect()
            stuck.send(b"set k 0 0 100\r\nabc")
            code, seconds = server.signal_and_wait(signal.SIGTERM)
            self.assertEqual(code, 0)
            self.assertLess(seconds, self.LIMIT_SECONDS)
            self.assertTrue(stuck.closed())

    def test_full_cache_and_busy_clients(self):
        size = 64 if SANITIZED else 1024
        with Server("-m", str(size), "-t", "2") as server:
            client = server.connect()
            value = b"f" * 500000
            for number in range(size * 3):
                client.send(b"set fill%d 0 0 500000 noreply\r\n%s\r\n" % (number, value))
            self.assertTrue(client.ask(b"version\r\n").startswith(b"VERSION"))
            self.assertGreater(server.rss(), size * 0.8 * (1 << 20))
            load = Load(server, threads=3)
            with load:
                load.progress(200)
                code, seconds = server.signal_and_wait(signal.SIGTERM)
            print("%d MiB full, busy: stopped in %.3f s" % (size, seconds))
            self.assertEqual(code, 0)
            self.assertLess(seconds, self.LIMIT_SECONDS)

    def test_shutdown_command(self):
        with Server() as server:
            self.assertEqual(server.connect().ask(b"shutdown\r\n"), b"SERVER_ERROR: shutdown not enabled\r\n")
        for command in (b"shutdown\r\n", b"shutdown graceful\r\n"):
            with self.subTest(command=command), Server("-A") as server:
                server.connect().send(command)
                self.assertEqual(server.process.wait(10), 0)

    def test_signals_at_every_moment_of_a_start_and_a_stop(self):
        for step in range(8 if SANITIZED else 16):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
                with Server(wait=False) as server:
                    time.sleep(step * (0.02 if SANITIZED else 0.003))
                    for _ in range(1 + step % 4):
                        server.process.send_signal(number)
                    # Before main begins the kernel's default ends it.
                    self.assertIn(server.process.wait(10), (0, -number))

    def test_signals_before_it_can_serve(self):
        """Held at its first warning, by a pipe that is full: all is as it will be, though nothing is set up."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            with self.subTest(signal=number), FullPipe() as pipe:
                held = subprocess.Popen(EARLY_WARNING, stderr=pipe.end)
                self.addCleanup(held.kill)
                pipe.wait_until_blocked(held.pid)
                held.send_signal(signal.SIGHUP)
                held.send_signal(signal.SIGPIPE)
                time.sleep(0.05)
                self.assertIsNone(held.poll())
                held.send_signal(number)
                self.assertEqual(held.wait(10), 0)

    @unittest.skipUnless(os.getuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    def test_signals_before_it_can_serve_as_process_1(self):
        with FullPipe() as pipe:
            outside = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child"] + EARLY_WARNING, stderr=pipe.end)
            self.addCleanup(outside.kill)
            wait_until(lambda: children_of(outside.pid), "process 1")
            inside = children_of(outside.pid)[0]
            pipe.wait_until_blocked(inside)
            os.kill(inside, signal.SIGTERM)
            self.assertEqual(outside.wait(10), 0)

    @unittest.skipUnless(os.getuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    def test_as_process_1(self):
        folder = "/tmp/podcache-pid1-%d" % os.getpid()
        os.mkdir(folder)
        path = folder + "/s"
        outside = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", PODCACHED, "-u", "root", "-s", path, "--http-listen=off",
                                    "--admin-listen=off"])
        try:
            # Not before it serves: thread sanitizer loses a signal that comes while threads are being started.
            wait_until(lambda: answers(path), "an answer")
            inside = children_of(outside.pid)[0]
            with open("/proc/%d/status" % inside) as status:
                self.assertIn("NSpid:\t%d\t1\n" % inside, status.read())
            os.kill(inside, signal.SIGHUP)
            os.kill(inside, signal.SIGTERM)
            self.assertEqual(outside.wait(10), 0)
        finally:
            if outside.poll() is None:
                outside.kill()
            shutil.rmtree(folder)


@needs_side_doors
class Readiness(unittest.TestCase):
    def test_ready_while_serving_and_metrics_are_there(self):
        import urllib.request
        with Server(http=True) as server:
            base = "http://127.0.0.1:%d" % server.http_port
            server.connect().ask(b"version\r\n")
            self.assertEqual(urllib.request.urlopen(base + "/healthz").status, 200)
            wait_until(lambda: urllib.request.urlopen(base + "/readyz").status == 200, "readiness")
            text = urllib.request.urlopen(base + "/metrics").read().decode()
            self.assertIn("memcached_up 1", text)
            self.assertIn("memcached_connections_total 1", text)

    def test_not_ready_while_draining(self):
        import urllib.error
        import urllib.request
        with Server(http=True) as server:
            base = "http://127.0.0.1:%d" % server.http_port
            stuck = server.connect()
            stuck.send(b"set k 0 0 100\r\nabc")
            stuck.socket.settimeout(0.2)
            wait_until(lambda: urllib.request.urlopen(base + "/readyz").status == 200, "readiness")
            codes = []

            def watch():
                while server.process.poll() is None:
                    try:
                        codes.append(urllib.request.urlopen(base + "/readyz", timeout=2).status)
                    except urllib.error.HTTPError as error:
                        codes.append(error.code)
                    except OSError:
                        pass
            watcher = threading.Thread(target=watch)
            watcher.start()
            server.signal_and_wait(signal.SIGTERM)
            watcher.join()
            self.assertIn(503, codes)
            self.assertNotIn(200, codes[codes.index(503):])


if __name__ == "__main__":
    unittest.main(verbosity=2)
