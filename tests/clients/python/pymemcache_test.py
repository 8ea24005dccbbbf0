"""pymemcache: text, noreply by default; the meta commands through raw_command."""
import unittest

from pymemcache.client.base import Client, PooledClient
from pymemcache.client.retrying import RetryingClient
from pymemcache.exceptions import MemcacheClientError, MemcacheServerError, MemcacheUnexpectedCloseError

import place


class Suite:
    address = None

    def setUp(self):
        self.client = Client(self.address, timeout=30, default_noreply=False)
        self.client.flush_all()
        self.addCleanup(lambda: self.client.close())

    def test_set_and_get(self):
        self.assertTrue(self.client.set("k", b"v\r\n\0", flags=7))
        self.assertEqual(self.client.get("k"), b"v\r\n\0")
        self.assertIsNone(self.client.get("missing"))
        self.assertEqual(self.client.get("missing", b"default"), b"default")

    def test_noreply_is_the_default_and_leaves_the_stream_in_step(self):
        client = Client(self.address, timeout=30)
        self.addCleanup(client.close)
        for number in range(200):
            client.set("n%d" % number, b"%d" % number)
            client.add("n%d" % number, b"other")
            client.replace("missing%d" % number, b"other")
            client.append("n%d" % number, b"+")
            client.prepend("n%d" % number, b"-")
            client.incr("c", 1, noreply=True)
            client.touch("n%d" % number, 100)
        client.delete("n7")
        self.assertIsNone(client.get("n7"))
        self.assertEqual(client.get("n8"), b"-8+")
        client.flush_all()
        self.assertEqual(client.get_many(["n8", "n9"]), {})

    def test_add_and_replace(self):
        self.assertFalse(self.client.replace("k", b"1"))
        self.assertTrue(self.client.add("k", b"1"))
        self.assertFalse(self.client.add("k", b"2"))
        self.assertTrue(self.client.replace("k", b"3"))
        self.assertEqual(self.client.get("k"), b"3")

    def test_append_and_prepend(self):
        self.assertFalse(self.client.append("k", b"c"))
        self.client.set("k", b"b")
        self.assertTrue(self.client.append("k", b"c"))
        self.assertTrue(self.client.prepend("k", b"a"))
        self.assertEqual(self.client.get("k"), b"abc")

    def test_many(self):
        values = {"m%d" % number: b"%d" % number for number in range(1000)}
        self.assertEqual(self.client.set_many(values), [])
        self.assertEqual(self.client.get_many(list(values) + ["missing"]), values)
        found = self.client.gets_many(["m1", "m2"])
        self.assertEqual({key: value for key, (value, _) in found.items()}, {"m1": b"1", "m2": b"2"})
        self.assertTrue(self.client.delete_many(["m1", "m2", "missing"]))
        self.assertEqual(self.client.get_many(["m1", "m2", "m3"]), {"m3": b"3"})

    def test_cas(self):
        self.assertIsNone(self.client.cas("k", b"1", "5"))
        self.client.set("k", b"1")
        value, unique = self.client.gets("k")
        self.assertEqual(value, b"1")
        self.assertTrue(self.client.cas("k", b"2", unique))
        self.assertFalse(self.client.cas("k", b"3", unique))
        self.assertEqual(self.client.get("k"), b"2")

    def test_incr_and_decr(self):
        self.assertIsNone(self.client.incr("n", 1))
        self.client.set("n", b"10")
        self.assertEqual(self.client.incr("n", 5), 15)
        self.assertEqual(self.client.decr("n", 20), 0)
        self.client.set("n", b"18446744073709551615")
        self.assertEqual(self.client.incr("n", 2), 1)
        self.client.set("n", b"text")
        with self.assertRaises(MemcacheClientError):
            self.client.incr("n", 1)

    def test_decr_to_fewer_digits_stays_a_number(self):
        self.client.set("n", b"1000")
        self.assertEqual(self.client.decr("n", 1), 999)
        self.assertEqual(int(self.client.get("n")), 999)

    def test_touch_and_expiry(self):
        self.assertFalse(self.client.touch("k", 10))
        self.client.set("k", b"v", expire=100)
        self.assertTrue(self.client.touch("k", 10))
        self.assertEqual(self.client.get("k"), b"v")
        self.assertTrue(self.client.touch("k", -1))
        self.assertIsNone(self.client.get("k"))

    def test_delete(self):
        self.assertFalse(self.client.delete("k"))
        self.client.set("k", b"v")
        self.assertTrue(self.client.delete("k"))
        self.assertIsNone(self.client.get("k"))

    def test_large_values(self):
        self.assertTrue(self.client.set("large", place.LARGE))
        self.assertEqual(self.client.get("large"), place.LARGE)
        with self.assertRaises(MemcacheServerError):
            self.client.set("large", place.TOO_LARGE)
        self.assertIsNone(self.client.get("large"))

    def test_stats_and_version(self):
        self.assertRegex(self.client.version().decode(), r"^\d+\.\d+\.\d+")
        self.client.set("k", b"v")
        self.assertEqual(place.wait_for_items(1, lambda: self.client.stats()[b"curr_items"]), 1)
        self.assertIn(b"maxbytes", self.client.stats("settings"))
        self.assertTrue(any(key.endswith(b":number") for key in self.client.stats("items")))
        self.assertTrue(self.client.cache_memlimit(64))

    def test_meta_commands(self):
        ask = self.client.raw_command
        self.assertEqual(ask(b"mn"), b"MN")
        self.assertEqual(ask(b"ms meta 2 T100 F5 c\r\nhi").split()[0], b"HD")
        self.assertEqual(ask(b"mg meta v f t k Oq1", b"\r\nhi\r\n"), b"VA 2 f5 t100 kmeta Oq1")
        self.assertEqual(ask(b"mg missing v Oq2 k"), b"EN Oq2 kmissing")
        self.assertEqual(ask(b"mg lease v N30 t", b"\r\n\r\n"), b"VA 0 t30 W")
        self.assertEqual(ask(b"ma number N0 J13 v", b"\r\n13\r\n"), b"VA 2")
        self.assertEqual(ask(b"md meta I T30"), b"HD")
        self.assertEqual(ask(b"mg meta v", b"\r\nhi\r\n"), b"VA 2 X W")
        self.assertEqual(ask(b"md meta"), b"HD")

    def test_pool(self):
        pool = PooledClient(self.address, max_pool_size=4, timeout=30, default_noreply=False)
        self.addCleanup(pool.close)
        for number in range(100):
            self.assertTrue(pool.set("p%d" % number, b"v"))
        self.assertEqual(len(pool.get_many(["p%d" % number for number in range(100)])), 100)

    def test_a_restart_of_the_server(self):
        self.client.set("k", b"v")
        place.restart_server()
        client = RetryingClient(self.client, attempts=3, retry_for=[MemcacheUnexpectedCloseError, ConnectionError])
        self.assertIsNone(client.get("k"))
        self.assertTrue(client.set("k", b"v2"))
        self.assertEqual(client.get("k"), b"v2")


class OverTcp(Suite, unittest.TestCase):
    address = (place.HOST, place.PORT)


class OverUnixSocket(Suite, unittest.TestCase):
    address = place.UNIX


if __name__ == "__main__":
    unittest.main()
