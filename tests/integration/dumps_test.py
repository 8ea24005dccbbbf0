"""Dumps of all keys from a real server: complete, patient with slow readers, cheap for everybody else."""
import base64
import re
import time
import unittest
import urllib.parse

from podcached import SANITIZED, Load, Server, needs_real_memory

ITEMS = 100_000
KEY = b"dump/%06d/" + b"k" * 120


def fill(client, items=ITEMS):
    """Stores the items; the last one is confirmed."""
    batch = bytearray()
    for number in range(items):
        batch += b"set %s 0 0 4 noreply\r\nxxxx\r\n" % (KEY % number)
        if len(batch) > 1 << 20:
            client.send(batch)
            batch.clear()
    client.send(batch)
    assert client.set(b"last", b"x") == b"STORED\r\n"


def metadump_keys(answer):
    return [urllib.parse.unquote_to_bytes(key) for key in re.findall(rb"^key=(\S+) exp=", answer, re.M)]


class Dumps(unittest.TestCase):
    def check_complete(self, keys):
        ours = [key for key in keys if key.startswith(b"dump/")]
        self.assertEqual(len(ours), len(set(ours)), "a key was shown twice")
        self.assertEqual(set(ours), {KEY % number for number in range(ITEMS)})

    def test_every_item_exactly_once_while_others_write(self):
        with Server("-m", "512", "-t", "2") as server:
            client = server.connect()
            fill(client)
            with Load(server, threads=2, keys=500) as load:
                client.send(b"lru_crawler metadump all\r\n")
                self.check_complete(metadump_keys(client.until(b"\nEND\r\n")))
                client.send(b"lru_crawler mgdump all\r\n")
                answer = client.until(b"\r\nEN\r\n")
                self.check_complete(re.findall(rb"^mg (\S+)\r$", answer, re.M))
                load.progress(100)
            self.assertEqual(load.errors, [])
            self.assertTrue(client.ask(b"version\r\n").startswith(b"VERSION"))

    def test_a_slow_reader_holds_up_nobody_and_takes_no_memory(self):
        with Server("-m", "512", "-t", "1") as server:
            client = server.connect()
            fill(client)
            before = server.rss()
            slow = [server.connect(receive_buffer=4096) for _ in range(20)]
            for reader in slow:
                reader.send(b"lru_crawler metadump all\r\n")
            # The answers, some 20 MB each, cannot leave; the only worker serves others meanwhile.
            for number in range(3000):
                self.assertEqual(client.set(b"other%d" % number, b"v"), b"STORED\r\n")
            if not SANITIZED:
                self.assertLess(server.rss() - before, len(slow) * (1 << 20))
            # What was deleted, written and evicted meanwhile changes nothing for the others.
            self.check_complete(metadump_keys(slow[0].until(b"\nEND\r\n")))

    @needs_real_memory
    def test_readers_that_go_away_in_the_middle(self):
        with Server("-m", "512", "-t", "2") as server:
            client = server.connect()
            fill(client)
            before = server.rss()
            for _ in range(30):
                reader = server.connect(receive_buffer=4096)
                reader.send(b"lru_crawler mgdump hash\r\n")
                self.assertEqual(reader.line(), b"OK\r\n")
                reader.close()
            self.assertTrue(client.ask(b"version\r\n").startswith(b"VERSION"))
            self.assertLess(server.rss() - before, 8 << 20)

    def test_crawl_removes_what_has_expired(self):
        with Server("-m", "64") as server:
            client = server.connect()
            for number in range(2000):
                client.send(b"set e%d 0 1 1000 noreply\r\n%s\r\n" % (number, b"v" * 1000))
            self.assertEqual(client.set(b"stays", b"v"), b"STORED\r\n")
            time.sleep(1.1)  # The server's clock cannot be moved from here in a release build.
            self.assertEqual(client.ask(b"lru_crawler crawl all\r\n"), b"OK\r\n")
            end = time.monotonic() + 10
            while int(client.stats()["curr_items"]) > 1000 and time.monotonic() < end:
                time.sleep(0.02)
            self.assertLessEqual(int(client.stats()["curr_items"]), 1000)
            self.assertEqual(client.get(b"stays"), b"v")
            client.send(b"lru_crawler metadump all\r\n")
            self.assertEqual(metadump_keys(client.until(b"END\r\n")), [b"stays"])

    def test_refused_with_X(self):
        with Server("-X") as server:
            client = server.connect()
            for command, answer in ((b"lru_crawler metadump all", b"ERROR metadump not allowed"),
                                    (b"lru_crawler mgdump all", b"ERROR key dump not allowed"),
                                    (b"stats cachedump 1 1", b"CLIENT_ERROR stats cachedump not allowed"),
                                    (b"stats detail dump", b"CLIENT_ERROR stats detail not allowed")):
                self.assertEqual(client.ask(command + b"\r\n"), answer + b"\r\n")
            self.assertEqual(client.stats(b"settings")["dump_enabled"], "no")

    def test_mgdump_is_a_list_of_requests(self):
        with Server() as server:
            client = server.connect()
            client.set(b"bin\x01ary", b"v")
            client.send(b"lru_crawler mgdump all\r\n")
            self.assertEqual(client.until(b"EN\r\n"), b"OK\r\nmg %s b\r\nEN\r\n" % base64.b64encode(b"bin\x01ary"))


class Families(unittest.TestCase):
    def test_detail_and_sizes_as_switched_on_by_options(self):
        with Server("-D", "/", "-o", "track_sizes") as server:
            client = server.connect()
            self.assertEqual(client.stats(b"settings")["stat_key_prefix"], "/")
            self.assertEqual(client.stats(b"settings")["detail_enabled"], "yes")
            client.set(b"a/b", b"v")
            client.get(b"a/b")
            client.send(b"stats detail dump\r\n")
            self.assertEqual(client.until(b"END\r\n"), b"PREFIX a get 1 hit 1 set 1 del 0\r\nEND\r\n")
            self.assertEqual(list(client.stats(b"sizes").values()), ["1"])


if __name__ == "__main__":
    unittest.main()
