"""Races between clients of several workers, over sockets and in every protocol; each has a sum that must come out exactly.

That of numbers that are created by many at once is in protocols_test.py (S17).
"""
import threading
import unittest

import binary
from podcached import Server

CLIENTS = 8


def together(work, clients):
    """Runs work(client, number) for all at once; what it returns, in order."""
    results = [None] * len(clients)
    start = threading.Barrier(len(clients))

    def run(number):
        start.wait()
        results[number] = work(clients[number], number)
    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(clients))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class Races(unittest.TestCase):
    ROUNDS = 100

    def setUp(self):
        self.server = Server("-m", "64", "-t", "4")
        self.server.__enter__()
        self.addCleanup(self.server.__exit__, None, None, None)
        self.clients = [self.server.connect() for _ in range(CLIENTS)]
        self.other = self.server.connect()

    def test_delete_against_replace(self):
        """One of them deletes, and no replace brings the item back."""
        replaces, deletes = b"replace k 0 0 1\r\nx\r\n" * 10, b"delete k\r\n" * 10
        for _ in range(self.ROUNDS):
            self.assertEqual(self.other.set(b"k", b"v"), b"STORED\r\n")

            def work(client, number):
                client.send(deletes if number % 2 else replaces)
                return [client.line() for _ in range(10)]
            lines = sum(together(work, self.clients)[1::2], [])
            self.assertEqual(sorted(lines), [b"DELETED\r\n"] + [b"NOT_FOUND\r\n"] * (len(lines) - 1))
            self.assertIsNone(self.other.get(b"k"))

    def test_add_against_delete(self):
        """What was added and not deleted is there: nothing or one item."""
        requests = b"add k 0 0 1\r\nx\r\ndelete k\r\n" * 20
        for _ in range(self.ROUNDS):
            def work(client, number):
                client.send(requests if number % 2 else b"delete k\r\nadd k 0 0 1\r\nx\r\n" * 20)
                return [client.line() for _ in range(40)]
            lines = sum(together(work, self.clients), [])
            left = lines.count(b"STORED\r\n") - lines.count(b"DELETED\r\n")
            self.assertEqual(left, 0 if self.other.get(b"k") is None else 1)
            self.other.ask(b"delete k\r\n")

    def test_one_winner_for_a_stale_item(self):
        for _ in range(self.ROUNDS):
            self.assertEqual(self.other.set(b"k", b"v"), b"STORED\r\n")
            self.assertEqual(self.other.ask(b"md k I T30\r\n"), b"HD\r\n")
            answers = together(lambda client, _: client.ask(b"mg k t\r\n"), self.clients)
            self.assertEqual(sum(answer.endswith(b" X W\r\n") for answer in answers), 1, answers)
            self.assertEqual(sum(answer.endswith(b" Z X\r\n") or answer.endswith(b" X Z\r\n") for answer in answers), CLIENTS - 1, answers)

    def test_one_winner_for_a_missing_item(self):
        for number in range(self.ROUNDS):
            request = b"mg new%d N30\r\n" % number
            answers = together(lambda client, _: client.ask(request), self.clients)
            self.assertEqual(sorted(answers), [b"HD W\r\n"] + [b"HD Z\r\n"] * (CLIENTS - 1))

    def test_one_winner_for_an_item_about_to_expire(self):
        for _ in range(self.ROUNDS):
            self.assertEqual(self.other.ask(b"set k 0 20 1\r\nv\r\n"), b"STORED\r\n")
            answers = together(lambda client, _: client.ask(b"mg k R30\r\n"), self.clients)
            self.assertEqual(sorted(answers), [b"HD W\r\n"] + [b"HD Z\r\n"] * (CLIENTS - 1))

    def test_one_of_many_comparing_writes(self):
        for _ in range(self.ROUNDS):
            self.assertEqual(self.other.set(b"k", b"v"), b"STORED\r\n")
            unique = int(self.other.ask(b"mg k c\r\n").split()[1][1:])

            def work(client, number):
                if number % 2:
                    client.send(b"cas k 0 0 1 %d\r\n%d\r\n" % (unique, number))
                else:
                    client.send(b"ms k 1 C%d\r\n%d\r\n" % (unique, number))
                return client.line()
            answers = together(work, self.clients)
            self.assertEqual(sum(answer in (b"STORED\r\n", b"HD\r\n") for answer in answers), 1, answers)
            self.assertEqual(sum(answer in (b"EXISTS\r\n", b"EX\r\n") for answer in answers), CLIENTS - 1, answers)

    def test_numbers_in_all_protocols_at_once(self):
        """Every protocol adds its share to one number; created by ma, incr finds it."""
        self.assertEqual(self.other.ask(b"set n 0 0 1\r\n0\r\n"), b"STORED\r\n")
        packets = [self.server.connect() for _ in range(4)]

        def work(client, number):
            if client in packets:
                client.send(binary.increment(b"n", delta=1) * 1000 + binary.request(0x0a))
                return sum(binary.receive(client).status for _ in range(1001))
            client.send((b"incr n 10\r\n" if number % 2 else b"ma n D100\r\n") * 1000)
            return sum(client.line().startswith((b"CLIENT", b"NF", b"NOT")) for _ in range(1000))
        self.assertEqual(together(work, self.clients + packets), [0] * (CLIENTS + 4))
        self.assertEqual(self.other.get(b"n"), b"%d" % (1000 * (4 * 10 + 4 * 100 + 4)))


if __name__ == "__main__":
    unittest.main()
