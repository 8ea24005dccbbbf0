"""Limits that must hold while the cache is full: RSS stays within the budget (-m) and two percent, and others are served.

Every test fills the cache beyond its budget first: only then does memory taken for clients have to come from items.
"""
import os
import resource
import socket
import threading
import time
import unittest

from podcached import Client, Server, needs_real_memory, run, wait_until

MIB = 1 << 20
BUDGET_MIB = 1024
VALUE = b"v" * 10240
KEYS = 120_000  # Of 10 KiB: more than fit.


def raise_descriptor_limit(wanted):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, wanted), hard), hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= wanted


def connect(server, number, receive_buffer=None):
    """From one of several source addresses: one has not enough ports on every machine."""
    sock = socket.socket()
    if receive_buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    sock.bind(("127.0.0.%d" % (2 + number % 8), 0))
    sock.connect(("127.0.0.1", server.port))
    return server.keep(Client(sock))


class Watched:
    """Samples RSS and asks as an ordinary client all the while."""

    def __init__(self, server, budget_mib=BUDGET_MIB):
        self.server = server
        self.limit = budget_mib * MIB * 102 // 100
        self.highest = 0
        self.slowest = 0.0
        self.asked = 0
        self.errors = []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.work, args=(server.connect(),))

    def work(self, client):
        try:
            while not self.stopping.is_set():
                start = time.monotonic()
                if client.set(b"probe", b"x" * 100) != b"STORED\r\n" or client.get(b"probe") != b"x" * 100:
                    raise AssertionError("the other client got a wrong answer")
                self.slowest = max(self.slowest, time.monotonic() - start)
                self.highest = max(self.highest, self.server.rss())
                self.asked += 1
                time.sleep(0.005)
        except Exception as error:
            self.errors.append(error)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *unused):
        self.stopping.set()
        self.thread.join()
        if kind is None and self.errors:
            raise self.errors[0]

    def settle(self, rounds=50):
        """Some more samples after everything has been sent."""
        goal = self.asked + rounds
        wait_until(lambda: self.asked >= goal or self.errors, "the other client")

    def check(self, test, what):
        test.assertEqual(self.errors, [])
        print("%s: RSS at most %.1f MiB of %d (%+.2f %%); %d times the other client was served, in %.0f ms at most" % (
            what, self.highest / MIB, self.limit * 100 // 102 // MIB,
            (self.highest * 102 / self.limit) - 100, self.asked, self.slowest * 1000))
        test.assertGreater(self.asked, 20)
        test.assertLessEqual(self.highest, self.limit)


def fill(server, keys=KEYS, value=VALUE):
    client = server.connect()
    batch = 200
    for first in range(0, keys, batch):
        client.send(b"".join(b"set key%d 0 0 %d noreply\r\n%s\r\n" % (n, len(value), value)
                             for n in range(first, min(first + batch, keys))))
    client.ask(b"version\r\n")
    return client


def full_server(*options, budget_mib=BUDGET_MIB):
    server = Server("-m", str(budget_mib), "-t", "4", "-c", "11000", "-b", "4096", *options)
    try:
        stats = fill(server).stats()
        assert int(stats["evictions"]) > 0, "the cache is not full"
    except BaseException:
        server.__exit__()
        raise
    return server


@needs_real_memory
class WithAFullCache(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not raise_descriptor_limit(12000):
            raise unittest.SkipTest("descriptor limit")

    def test_ten_thousand_idle_connections(self):
        count = 10_000
        with full_server() as server, Watched(server) as others:
            before = int(server.clients[0].stats()["curr_connections"])
            clients = [connect(server, number) for number in range(count)]
            for client in clients:
                client.send(b"get nothing\r\n")
            for client in clients:
                self.assertEqual(client.line(), b"END\r\n")
            others.settle()
            self.assertEqual(server.clients[0].stats()["curr_connections"], str(before + count))
            others.check(self, "10,000 idle connections")

    def test_memory_of_one_idle_connection(self):
        count = 10_000
        with Server("-m", "64", "-c", str(count + 10), "-b", "4096") as server:
            server.connect().ask(b"version\r\n")
            before = server.rss()
            clients = [connect(server, number) for number in range(count)]
            for client in clients:
                client.send(b"get nothing\r\n")
            for client in clients:
                client.line()
            each = (server.rss() - before) / count
            print("an idle connection: %.0f bytes" % each)
            self.assertLessEqual(each, 1024)

    def test_multiget_read_slowly(self):
        count = 200_000
        with full_server() as server, Watched(server) as others:
            slow = connect(server, 0, receive_buffer=8192)
            line = b"get " + b" ".join(b"key%d" % (n % KEYS) for n in range(count)) + b"\r\n"
            sender = threading.Thread(target=slow.send, args=(line,))
            sender.start()
            time.sleep(1)
            # A little at a time for a while, then all of it: whole and in order.
            received = bytearray()
            for _ in range(200):
                received += slow.socket.recv(4096)
                time.sleep(0.002)
            others.settle()
            check = MultigetReader(self, bytes(received))
            while not check.ended:
                piece = slow.socket.recv(1 << 20)
                self.assertTrue(piece)
                check.feed(piece)
            sender.join()
            self.assertGreater(check.values, count // 3)
            others.check(self, "a 200,000-key multiget of %d values read slowly" % check.values)

    def test_many_slow_readers(self):
        with full_server() as server, Watched(server) as others:
            line = b"get " + b" ".join(b"key%d" % (KEYS - 1 - n) for n in range(1000)) + b"\r\n"
            clients = [connect(server, number, receive_buffer=4096) for number in range(300)]
            for client in clients:
                client.send(line)
            others.settle(200)
            others.check(self, "300 clients that ask for 10 MB each and read nothing")

    def test_half_requests(self):
        halves = [b"g", b"get ", b"get key", b"set k 0 0 100", b"set k 0 0 100\r\n", b"set k 0 0 100\r\nabc",
                  b"set big 0 0 1000000\r\n" + b"x" * 50_000, b"set mid 0 0 60000\r\n" + b"y" * 59_000, b"incr k",
                  b"x" * 2000, b"get " + b" " * 60_000, b"set k 0 0 1000000\r\n"]
        with full_server() as server, Watched(server) as others:
            clients = [connect(server, number) for number in range(1000)]
            for number, client in enumerate(clients):
                client.send(halves[number % len(halves)])
            others.settle(200)
            others.check(self, "1,000 clients that stop in the middle of a request")

    def test_announced_and_never_sent(self):
        # A single value may take half of the memory at most, so 1 GiB asks for more of it.
        with full_server("-I", "512m") as server, Watched(server) as others:
            clients = [connect(server, number) for number in range(50)]
            for number, client in enumerate(clients):
                client.send(b"set huge%d 0 0 536000000\r\n" % number + b"z" * 1000)
            others.settle(200)
            others.check(self, "50 times 512 MiB announced and never sent")

    def test_a_gibibyte_announced_and_never_sent(self):
        budget = 2560
        if os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGESIZE") < (budget + 1024) * MIB:
            self.skipTest("memory of this machine")
        with Server("-m", str(budget), "-I", "1024m", "-t", "2") as server, \
                Watched(server, budget) as others:
            clients = [connect(server, number) for number in range(20)]
            for number, client in enumerate(clients):
                client.send(b"set huge%d 0 0 1073741000\r\n" % number + b"z" * 1000)
            others.settle(100)
            others.check(self, "20 times 1 GiB announced and never sent")
            self.assertLess(others.highest, 200 * MIB)


class MultigetReader:
    """Checks a reply of `get key…` as it comes."""

    def __init__(self, test, data):
        self.test = test
        self.data = b""
        self.values = 0
        self.ended = False
        self.feed(data)

    def feed(self, piece):
        data = self.data + piece
        at = 0
        while not self.ended:
            end = data.find(b"\r\n", at)
            if end < 0:
                break
            if data[at:end] == b"END":
                self.test.assertEqual(end + 2, len(data))
                self.ended = True
                break
            words = data[at:end].split()
            self.test.assertEqual((words[0], words[2:]), (b"VALUE", [b"0", b"%d" % len(VALUE)]))
            stop = end + 2 + len(VALUE) + 2
            if stop > len(data):
                break
            self.test.assertEqual(data[end + 2:stop], VALUE + b"\r\n")
            self.values += 1
            at = stop
        self.data = data[at:]


class Refused(unittest.TestCase):
    def test_a_largest_item_that_is_more_than_half_of_memory(self):
        done = run("-u", "root", "-p", "0", "-m", "1024", "-I", "1024m")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("-I: an item of 1073741824 bytes is more than half of the memory", done.stderr)

    def test_a_value_beyond_the_largest_item(self):
        with Server("-m", "64", "-I", "1m") as server:
            client = server.connect()
            self.assertEqual(client.ask(b"set k 0 0 1073741824\r\n"), b"SERVER_ERROR object too large for cache\r\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
