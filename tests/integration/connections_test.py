"""Many connections, bad ones, slow ones."""
import os
import random
import resource
import select
import socket
import tempfile
import time
import unittest

import binary
from podcached import Client, Server, needs_real_memory, wait_until

MIB = 1 << 20


def raise_descriptor_limit(wanted):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, wanted), hard), hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= wanted


class Limits(unittest.TestCase):
    def test_so_many_clients_are_admitted_and_the_next_is_told(self):
        with Server("-c", "5") as server:
            clients = [server.connect() for _ in range(5)]
            for client in clients:
                self.assertTrue(client.ask(b"version\r\n").startswith(b"VERSION"))
            extra = server.connect()
            self.assertEqual(extra.line(), b"ERROR Too many open connections\r\n")
            self.assertTrue(extra.closed())
            stats = clients[0].stats()
            self.assertEqual(stats["curr_connections"], "5")
            self.assertEqual(stats["rejected_connections"], "1")
            self.assertEqual(stats["max_connections"], "5")
            clients.pop().close()
            wait_until(lambda: clients[0].stats()["curr_connections"] == "4", "room")
            self.assertTrue(server.connect().ask(b"version\r\n").startswith(b"VERSION"))

    def test_too_few_descriptors(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
            # Root without this right could raise it again.
            os.setuid(65534)
        if os.getuid() != 0:
            self.skipTest("root only")
        with self.assertRaises(AssertionError) as refused:
            Server("-c", "1000", before_exec=few, readable_by_all=True)
        self.assertIn("-c: 1000 clients need a descriptor limit of 1256, but the system allows 300", str(refused.exception))
        with Server(before_exec=few, readable_by_all=True) as server:
            self.assertEqual(server.connect().stats()["max_connections"], "44")

    def test_clients_wait_when_maxconns_fast_is_off(self):
        with Server("-c", "2", "-o", "no_maxconns_fast") as server:
            first, second = server.connect(), server.connect()
            for client in (first, second):
                client.ask(b"version\r\n")
            third = server.connect()
            third.send(b"version\r\n")
            wait_until(lambda: first.stats()["accepting_conns"] == "0", "a pause")
            self.assertEqual(first.stats()["rejected_connections"], "0")
            second.close()
            self.assertTrue(third.line().startswith(b"VERSION"))
            self.assertGreaterEqual(int(first.stats()["listen_disabled_num"]), 1)

    def test_idle_connections_are_closed(self):
        with tempfile.TemporaryDirectory() as folder, \
                Server("-o", "idle_timeout=1", "--extra-unix-socket", folder + "/socket") as server:
            watcher, busy = server.connect(), server.connect()
            self.assertEqual(watcher.ask(b"watch rawcmds\r\n"), b"OK\r\n")
            line, value, packet, mute = (server.connect() for _ in range(4))
            local = server.connect_unix(folder + "/socket")
            local.ask(b"version\r\n")
            line.send(b"get ")
            value.send(b"set k 0 0 10\r\nabc")
            packet.send(binary.store(0x01, b"k", b"x" * 100)[:-1])
            idle = [line, value, packet, mute, local]
            while idle:
                self.assertTrue(busy.ask(b"version\r\n").startswith(b"VERSION"))
                answered, _, _ = select.select([client.socket for client in idle], [], [], 0.1)
                for client in [client for client in idle if client.socket in answered]:
                    self.assertTrue(client.closed())
                    self.assertEqual(client.received, b"")
                    idle.remove(client)
            # Who watches has nothing to say.
            stats = busy.stats()
            self.assertEqual((stats["idle_kicks"], stats["log_watchers"]), ("5", "1"))


class Bad(unittest.TestCase):
    def test_a_thousand_half_requests(self):
        if not raise_descriptor_limit(4000):
            self.skipTest("descriptor limit")
        halves = [b"g", b"get ", b"get key", b"set k 0 0 100", b"set k 0 0 100\r\n", b"set k 0 0 100\r\nabc",
                  b"set big 0 0 1000000\r\n" + b"x" * 5000, b"incr k", b"stats", b"\x80", b"   "]
        with Server("-c", "2000") as server:
            clients = [server.connect() for _ in range(1000)]
            for number, client in enumerate(clients):
                client.send(halves[number % len(halves)])
            good = server.connect()
            self.assertEqual(good.set(b"k", b"v"), b"STORED\r\n")
            self.assertEqual(good.get(b"k"), b"v")
            for client in clients[::2]:
                client.close()
            # The server may have closed some of the rest itself.
            wait_until(lambda: int(good.stats()["curr_connections"]) <= 501, "the halves to go")
            self.assertEqual(good.get(b"k"), b"v")

    def test_the_last_replies_arrive_although_more_was_sent(self):
        more = b"x" * 3000000
        illegal = binary.request(0x00, b"k" * 251)
        cases = {
            "a line without an end": (b"mn\r\n" + more, b"MN\r\n"),
            "a web browser": (b"mn\r\nGET / HTTP/1.1\r\n" + more, b"MN\r\n"),
            "behind quit": (b"mn\r\nquit\r\n" + more, b"MN\r\n"),
            "an illegal packet": (binary.request(0x0a) + illegal + more, None)}
        with Server("-c", "2") as server:
            for title, (sent, wanted) in cases.items():
                with self.subTest(title):
                    client = server.connect()
                    client.send(sent)
                    received = client.until_end()
                    if wanted is not None:
                        self.assertEqual(received, wanted)
                    else:
                        self.assertEqual([(reply.opcode, reply.status) for reply in binary.split(received)], [(0x0a, 0), (0x00, 4)])
                    client.close()

            def admitted():
                client = server.connect()
                return client if client.ask(b"mn\r\n") == b"MN\r\n" else None
            # Those that have closed may still count for a moment.
            inside = [wait_until(admitted, "room for a client") for _ in range(2)]
            for _ in range(20):
                extra = server.connect()
                extra.send(b"get a\r\n" * 10000)
                self.assertEqual(extra.until_end(), b"ERROR Too many open connections\r\n")
                extra.close()
            self.assertEqual(len(inside), 2)

    def test_garbage(self):
        random_bytes = random.Random(5)
        with Server() as server:
            for _ in range(300):
                client = server.connect()
                data = bytes(random_bytes.randrange(256) for _ in range(random_bytes.randrange(1, 4000)))
                try:
                    client.send(data)
                    client.send(b"\r\nquit\r\n")
                except (BrokenPipeError, ConnectionResetError):
                    pass
                client.close()
            good = server.connect()
            self.assertEqual(good.set(b"k", b"v"), b"STORED\r\n")

    def test_clients_that_vanish_in_the_middle(self):
        with Server() as server:
            good = server.connect()
            for number in range(200):
                client = server.connect()
                client.send(b"set v%d 0 0 500000\r\n" % number + b"y" * (number * 997 % 400000))
                # A reset instead of an orderly end.
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                client.close()
            wait_until(lambda: good.stats()["curr_connections"] == "1", "the end of the others")
            self.assertEqual(good.stats()["curr_items"], "0")
            self.assertEqual(good.set(b"k", b"v" * 900000), b"STORED\r\n")


class Memory(unittest.TestCase):
    @needs_real_memory
    def test_ten_thousand_idle_connections(self):
        count = 10000
        if not raise_descriptor_limit(count + 500):
            self.skipTest("descriptor limit")
        with Server("-c", str(count + 10), "-b", "4096") as server:
            first = server.connect()
            first.ask(b"version\r\n")
            before = server.rss()
            clients = []
            # Several source addresses: one has not enough ports on every machine.
            for number in range(count):
                sock = socket.socket()
                sock.bind(("127.0.0.%d" % (2 + number % 8), 0))
                sock.connect(("127.0.0.1", server.port))
                clients.append(server.keep(Client(sock)))
            for client in clients:
                client.send(b"version\r\n")
            for client in clients:
                client.line()
            grown = server.rss() - before
            print("%d idle connections: %d bytes each" % (count, grown // count))
            self.assertLess(grown, count * 1024)
            self.assertEqual(first.stats()["curr_connections"], str(count + 1))

    @needs_real_memory
    def test_slow_reader_of_a_very_large_multiget(self):
        with Server("-m", "64", "-t", "2") as server:
            good = server.connect()
            for number in range(20):
                self.assertEqual(good.set(b"big%d" % number, b"z" * 500000), b"STORED\r\n")
            for number in range(20000):
                good.send(b"set s%d 0 0 100 noreply\r\n%s\r\n" % (number, b"s" * 100))
            good.ask(b"version\r\n")
            before = server.rss()
            # About 1 GiB of replies asked for in one line each; nobody reads them.
            slow = [server.connect(receive_buffer=8192) for _ in range(4)]
            keys = b" ".join(b"big%d" % (number % 20) for number in range(600))
            small = b" ".join(b"s%d" % (number % 20000) for number in range(200000))
            for client, line in zip(slow, (keys, keys, small, small)):
                client.socket.setblocking(False)
                sent = 0
                data = b"get " + line + b"\r\n"
                end = time.monotonic() + 5
                while sent < len(data) and time.monotonic() < end:
                    try:
                        sent += client.socket.send(data[sent:])
                    except BlockingIOError:
                        break  # Not read from any more: that is the point.
                client.socket.setblocking(True)
            highest = 0
            for _ in range(50):
                highest = max(highest, server.rss())
                self.assertTrue(good.ask(b"version\r\n").startswith(b"VERSION"))
                time.sleep(0.02)
            print("slow readers of about 1 GiB: RSS grew by %d KiB" % ((highest - before) >> 10))
            self.assertLess(highest - before, 16 * MIB)
            # One of them reads on and gets all of it.
            total = 0
            client = slow[0]
            client.socket.settimeout(30)
            want = sum(len(b"VALUE big%d 0 500000\r\n" % (n % 20)) + 500002 for n in range(600)) + 5
            while total < want:
                piece = client.socket.recv(1 << 20)
                self.assertTrue(piece)
                total += len(piece)
            self.assertEqual(total, want)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    unittest.main(verbosity=2)
