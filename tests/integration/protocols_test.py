"""Which protocol a socket speaks, and UDP."""
import re
import socket
import struct
import threading
import unittest

import binary
from podcached import Client, Server, free_port, needs_real_memory, run, wait_until

VERSION = re.compile(rb"VERSION \d+\.\d+\.\d+.*\r\n")


def connect(server, port):
    return server.keep(Client(socket.create_connection(("127.0.0.1", port))))


class Protocols(unittest.TestCase):
    def expect_text(self, client):
        self.assertRegex(client.ask(b"version\r\n"), VERSION)

    def expect_binary(self, client):
        client.send(binary.request(0x0a, opaque=7))
        reply = binary.receive(client)
        self.assertEqual((reply.status, reply.opaque), (0, 7))

    def expect_closed(self, client, data):
        client.send(data)
        self.assertTrue(client.closed())
        self.assertEqual(client.received, b"")

    def test_the_first_byte_decides(self):
        with Server() as server:
            self.expect_text(server.connect())
            self.expect_binary(server.connect())
            self.assertEqual(server.connect().stats(b"settings")["binding_protocol"], "auto-negotiate")

    def test_binary_only(self):
        with Server("-B", "binary") as server:
            self.expect_binary(server.connect())
            self.expect_closed(server.connect(), b"version\r\n" + b" " * 20)

    def test_text_only(self):
        with Server("-B", "ascii") as server:
            self.expect_text(server.connect())
            client = server.connect()
            client.send(b"\x80\x0b\r\n")
            self.assertEqual(client.line(), b"ERROR\r\n")

    def test_each_address_may_have_its_own(self):
        ports = [free_port() for _ in range(4)]
        with Server("-B", "binary", "-l", "127.0.0.1:%d,proto[ascii]:127.0.0.1:%d" % (ports[0], ports[1]),
                    "-l", "tag_x:proto[binary]:127.0.0.1:%d,proto[negotiating]:127.0.0.1:%d" % (ports[2], ports[3])) as server:
            self.expect_binary(connect(server, ports[0]))
            self.expect_text(connect(server, ports[1]))
            self.expect_binary(connect(server, ports[2]))
            self.expect_text(connect(server, ports[3]))
            self.expect_binary(connect(server, ports[3]))
            self.expect_closed(connect(server, ports[0]), b"version\r\n")
            self.expect_closed(connect(server, ports[2]), b"version\r\n")

    def test_a_large_value_with_many_cuts(self):
        value = bytes(range(256)) * 4000
        with Server("-m", "64") as server:
            client = server.connect()
            packet = binary.store(0x01, b"big", value, flags=9)
            for start in range(0, len(packet), 77_777):
                client.send(packet[start:start + 77_777])
            self.assertEqual(binary.receive(client).status, 0)
            client.send(binary.request(0x09, b"big") * 20 + binary.request(0x0a))
            for _ in range(20):
                reply = binary.receive(client)
                self.assertEqual(reply.extras, b"\0\0\0\x09")
                self.assertTrue(reply.value == value)
            self.assertEqual(binary.receive(client).opcode, 0x0a)

    def test_creating_increments_lose_nothing(self):
        """S17 over sockets: eight clients, one pipeline each."""
        keys = 10_000
        bad = []

        def work(client):
            for start in range(0, keys, 500):
                client.send(b"".join(binary.increment(b"n%d" % i) for i in range(start, start + 500)))
                bad.extend(reply.status for reply in (binary.receive(client) for _ in range(500)) if reply.status != 0)

        with Server("-m", "64", "-t", "4") as server:
            threads = [threading.Thread(target=work, args=(server.connect(),)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(bad, [])
            reader = server.connect()
            self.assertEqual({reader.get(b"n%d" % i) for i in range(keys)}, {b"7"})

    @needs_real_memory
    def test_a_gibibyte_announced_and_never_sent(self):
        with Server("-m", "64") as server:
            before = server.rss()
            clients = [server.connect() for _ in range(50)]
            for client in clients:
                client.send(binary.HEADER.pack(0x80, 0x01, 1, 8, 0, 0, 1 << 30, 0, 0) + b"\0" * 8 + b"k")
                self.assertEqual(binary.receive(client).status, 3)
                client.send(b"x" * 100_000)
            self.expect_text(server.connect())
            self.assertLess(server.rss() - before, 8 << 20)


class Udp:
    """A client that puts replies together."""

    def __init__(self, port, family=socket.AF_INET):
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.socket.settimeout(10)
        self.socket.connect(("::1" if family == socket.AF_INET6 else "127.0.0.1", port))
        self.sizes = []

    def ask(self, payload, request_id=1):
        self.socket.send(struct.pack(">HHHH", request_id, 0, 1, 0) + payload)
        return self.reply(request_id)

    def reply(self, request_id):
        parts, count = {}, 1
        self.sizes = []
        while len(parts) < count:
            datagram = self.socket.recv(70_000)
            got_id, sequence, count, reserved = struct.unpack(">HHHH", datagram[:8])
            assert (got_id, reserved) == (request_id, 0), datagram[:8]
            parts[sequence] = datagram[8:]
            self.sizes.append(len(datagram))
        return b"".join(parts[i] for i in range(count))

    def silent(self):
        self.socket.settimeout(0.2)
        try:
            return self.socket.recv(70_000) is None
        except socket.timeout:
            return True
        finally:
            self.socket.settimeout(10)


def udp_ports(server):
    with open(server.port_file) as ports:
        return {family: int(port) for family, port in re.findall(r"UDP (INET6?): (\d+)", ports.read())}


class UdpTest(unittest.TestCase):
    def test_off_unless_asked_for(self):
        with Server() as server:
            self.assertEqual(udp_ports(server), {})
            self.assertEqual(server.connect().stats(b"settings")["udpport"], "0")

    def test_text_and_binary(self):
        with Server("-U", "-1") as server:
            port = udp_ports(server)["INET"]
            self.assertEqual(server.connect().stats(b"settings")["udpport"], str(port))
            client = Udp(port)
            self.addCleanup(client.socket.close)
            self.assertRegex(client.ask(b"version\r\n", 0xabcd), VERSION)
            self.assertEqual(client.ask(b"set a 7 0 5\r\nhello\r\n"), b"STORED\r\n")
            self.assertEqual(client.ask(b"get a b\r\n"), b"VALUE a 7 5\r\nhello\r\nEND\r\n")
            self.assertEqual(client.ask(b"set b 0 0 1\r\n1\r\nincr b 4\r\nget b\r\n"),
                             b"STORED\r\n5\r\nVALUE b 0 1\r\n5\r\nEND\r\n")
            replies = binary.split(client.ask(binary.request(0x0c, b"a") + binary.request(0x09, b"x") + binary.increment(b"b")))
            self.assertEqual([(r.opcode, r.status, r.value) for r in replies],
                             [(0x0c, 0, b"hello"), (0x05, 0, b"\0\0\0\0\0\0\0\x06")])
            self.assertEqual(server.connect().get(b"b"), b"6")
            self.assertIn(b"STAT pid %d\r\n" % server.pid, client.ask(b"stats\r\n"))
            listed = server.connect().stats(b"conns")
            [number] = [name.split(":")[0] for name, value in listed.items() if value == "udp:0.0.0.0:%d" % port]
            self.assertEqual((listed[number + ":UDP"], listed[number + ":state"]), ("UDP", "conn_read"))
            self.assertEqual(listed[max(listed, key=lambda name: int(name.split(":")[0])).split(":")[0] + ":state"],
                             "conn_parse_cmd")

    def test_both_families_share_the_port(self):
        with Server("-U", "-1") as server:
            ports = udp_ports(server)
            if "INET6" in ports:
                self.assertEqual(ports["INET"], ports["INET6"])
                client = Udp(ports["INET6"], socket.AF_INET6)
                self.addCleanup(client.socket.close)
                self.assertRegex(client.ask(b"version\r\n"), VERSION)

    def test_large_replies_are_cut(self):
        value = bytes(range(256)) * 400
        with Server("-U", "-1") as server:
            server.connect().set(b"big", value)
            client = Udp(udp_ports(server)["INET"])
            self.addCleanup(client.socket.close)
            self.assertEqual(client.ask(b"get big\r\n"), b"VALUE big 0 102400\r\n" + value + b"\r\nEND\r\n")
            self.assertEqual(max(client.sizes), 1400)
            self.assertEqual(len([size for size in client.sizes if size < 1400]), 1)

    def test_replies_have_a_limit(self):
        with Server("-U", "-1", "-m", "64") as server:
            tcp = server.connect()
            for name in (b"a", b"b"):
                tcp.set(name, b"x" * 700_000)
            client = Udp(udp_ports(server)["INET"])
            self.addCleanup(client.socket.close)
            self.assertEqual(client.ask(b"get a b\r\n"), b"SERVER_ERROR reply too large for a datagram\r\n")
            [reply] = binary.split(client.ask(binary.request(0x00, b"a", opaque=5) + binary.request(0x00, b"b")))
            self.assertEqual((reply.opcode, reply.status, reply.opaque), (0, 3, 5))

    def test_nothing_but_requests_is_answered(self):
        """S20 and its kind."""
        with Server("-U", "-1") as server:
            client = Udp(udp_ports(server)["INET"])
            self.addCleanup(client.socket.close)
            for datagram in (b"", b"\0", b"\0" * 7, b"\0" * 8, bytes.fromhex("000100000000000000"),
                             b"\0\1\0\0\0\0\0\0version\r\n", b"\0\1\0\0\0\2\0\0version\r\n", b"\0\1\0\1\0\2\0\0version\r\n",
                             b"\0\1\0\0\0\1\0\0", b"\0\1\0\0\0\1\0\0version", b"\0\1\0\0\0\1\0\0\x80",
                             b"\0\1\0\0\0\1\0\0set k 0 0 100000\r\nabc", b"\0\1\0\0\0\1\0\0set n 0 0 1 noreply\r\nx\r\n",
                             b"\0\1\0\0\0\1\0\0mg nope v q\r\n", b"\0\1\0\0\0\1\0\0" + b"x" * 3000 + b"\r\n",
                             b"\0\1\0\0\0\1\0\0" + binary.request(0x09, b"nope"), b"\0\1\0\0\0\1\0\0" + binary.store(0x11, b"n", b"x"),
                             b"\0\1\0\0\0\1\0\0" + binary.request(0x17), b"\0\1\0\0\0\1\0\0" + binary.store(0x01, b"k", b"x")[:-1], b"\0\1\0\0\0\1\0\0quit\r\n", b"\0\1\0\0\0\1\0\0watch\r\n",
                             b"\0\1\0\0\0\1\0\0" + binary.HEADER.pack(0x80, 1, 1, 8, 0, 0, 100_000, 0, 0) + b"k" * 9):
                client.socket.send(datagram)
            self.assertRegex(client.ask(b"version\r\n", 3), VERSION)
            self.assertTrue(client.silent())
            self.assertIsNone(server.connect().get(b"k"))

    def test_what_is_not_whole_or_too_large_harms_no_later_request(self):
        with Server("-U", "-1") as server:
            client = Udp(udp_ports(server)["INET"])
            self.addCleanup(client.socket.close)
            too_large = binary.HEADER.pack(0x80, 0x01, 1, 8, 0, 0, 2_000_000, 6, 0) + b"\0" * 8 + b"k"
            for number in range(2, 60, 3):
                client.socket.send(b"\0\1\0\0\0\1\0\0set k 0 0 30\r\nabc\r\n")
                self.assertEqual(client.ask(b"set k 0 0 2000000\r\nabc\r\n", number),
                                 b"SERVER_ERROR object too large for cache\r\n")
                self.assertEqual(binary.split(client.ask(too_large, number + 1))[0].status, 3)
                self.assertRegex(client.ask(b"version\r\n", number + 2), VERSION)

    def test_protocols_of_the_socket(self):
        with Server("-U", "-1", "-B", "ascii") as server:
            client = Udp(udp_ports(server)["INET"])
            self.addCleanup(client.socket.close)
            self.assertEqual(client.ask(b"\x80\x0b\r\n"), b"ERROR\r\n")
        with Server("-U", "-1", "-B", "binary") as server:
            client = Udp(udp_ports(server)["INET"])
            self.addCleanup(client.socket.close)
            client.socket.send(b"\0\1\0\0\0\1\0\0version\r\n")
            self.assertEqual(binary.split(client.ask(binary.request(0x0a), 2))[0].opcode, 0x0a)

    def test_tcp_takes_the_same_port(self):
        port = free_port()
        with Server("-U", str(port), tcp=False) as server:
            self.assertEqual(server.port, port)
            self.assertEqual(udp_ports(server)["INET"], port)
            self.assertRegex(server.connect().ask(b"version\r\n"), VERSION)

    def test_every_combination_of_ports(self):
        """None means no socket, 0 any port."""
        for options, tcp, udp in (((), 0, None), (("-U", "0"), 0, None), (("-p", "0"), None, None), (("-p", "0", "-U", "-1"), None, 0),
                                  (("-U", "-1"), 0, 0)):
            with self.subTest(options=options), Server(*options) as server:
                found = server.ports().get("INET"), udp_ports(server).get("INET")
                self.assertEqual([port is None for port in found], [wanted is None for wanted in (tcp, udp)])

    def test_a_port_in_use_is_refused(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            done = run("-u", "root", "-p", "-1", "-l", "127.0.0.1", "-U", str(port), "--http-listen=off", "--admin-listen=off")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(str(port), done.stderr)

    def test_many_clients_at_once(self):
        with Server("-U", "-1", "-t", "4") as server:
            port = udp_ports(server)["INET"]
            bad = []

            def work(number):
                client = Udp(port)
                for i in range(500):
                    key = b"k%d" % number
                    if client.ask(b"set %s 0 0 4\r\n%04d\r\n" % (key, i), i) != b"STORED\r\n":
                        bad.append((number, i))
                    if client.ask(b"get %s\r\n" % key, i) != b"VALUE %s 0 4\r\n%04d\r\nEND\r\n" % (key, i):
                        bad.append((number, i))
                client.socket.close()

            threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(bad, [])
            wait_until(lambda: server.connect().stats()["cmd_set"] == "4000", "counts of all workers")


if __name__ == "__main__":
    unittest.main(verbosity=2)
