"""pylibmc, which is libmemcached: text and binary, plain and in its modes without blocking or replies."""
import time
import unittest

import pylibmc

import place


class Suite:
    address = None
    binary = False

    def setUp(self):
        self.client = self.connect()
        self.client.flush_all()
        self.addCleanup(lambda: self.client.disconnect_all())

    def connect(self, **behaviors):
        return pylibmc.Client([self.address], binary=self.binary, behaviors=dict({"cas": True, "retry_timeout": 1}, **behaviors))

    def test_set_and_get(self):
        self.assertTrue(self.client.set("k", b"v\r\n\0"))
        self.assertEqual(self.client.get("k"), b"v\r\n\0")
        self.assertIsNone(self.client.get("missing"))
        for value in (5, 1.5, "text", ["list"], {"a": 1}, True):  # Types are told apart by client flags.
            self.client.set("k", value)
            self.assertEqual(self.client.get("k"), value)

    def test_compressed(self):
        self.assertTrue(self.client.set("k", "x" * 100000, min_compress_len=1000))
        self.assertEqual(self.client.get("k"), "x" * 100000)

    def test_add_and_replace(self):
        if self.binary:  # The status of a replace that finds nothing is another one there.
            with self.assertRaises(pylibmc.NotFound):
                self.client.replace("k", "1")
        else:
            self.assertFalse(self.client.replace("k", "1"))
        self.assertTrue(self.client.add("k", "1"))
        self.assertFalse(self.client.add("k", "2"))
        self.assertTrue(self.client.replace("k", "3"))
        self.assertEqual(self.client.get("k"), "3")

    def test_append_and_prepend(self):
        self.assertFalse(self.client.append("k", b"c"))
        self.client.set("k", b"b")
        self.assertTrue(self.client.append("k", b"c"))
        self.assertTrue(self.client.prepend("k", b"a"))
        self.assertEqual(self.client.get("k"), b"abc")

    def test_multi(self):
        values = {"m%d" % number: b"%d" % number for number in range(1000)}
        self.assertEqual(self.client.set_multi(values), [])
        self.assertEqual(self.client.get_multi(list(values) + ["missing"]), values)
        self.assertTrue(self.client.delete_multi(["m1", "m2"]))
        self.assertEqual(self.client.get_multi(["m1", "m2", "m3"]), {"m3": b"3"})
        self.assertEqual(self.client.add_multi({"m3": b"x"}), ["m3"])

    def test_prefixed_multi(self):
        self.assertEqual(self.client.set_multi({"a": 1, "b": 2}, key_prefix="p:"), [])
        self.assertEqual(self.client.get_multi(["a", "b"], key_prefix="p:"), {"a": 1, "b": 2})
        self.assertEqual(self.client.get("p:a"), 1)

    def test_cas(self):
        self.client.set("k", "1")
        value, unique = self.client.gets("k")
        self.assertEqual(value, "1")
        self.assertTrue(self.client.cas("k", "2", unique))
        self.assertFalse(self.client.cas("k", "3", unique))
        self.assertEqual(self.client.get("k"), "2")
        self.assertEqual(self.client.gets("missing"), (None, None))

    def test_incr_and_decr(self):
        with self.assertRaises(pylibmc.NotFound):
            self.client.incr("n")
        self.client.set("n", 10)
        self.assertEqual(self.client.incr("n", 5), 15)
        self.assertEqual(self.client.decr("n", 20), 0)
        self.assertEqual(self.client.get("n"), 0)
        self.client.set("n2", 1)
        self.client.incr_multi(["n", "n2"], delta=3)
        self.assertEqual(self.client.get_multi(["n", "n2"]), {"n": 3, "n2": 4})

    def test_touch_and_expiry(self):
        self.assertFalse(self.client.touch("k", 10))
        self.client.set("k", "v", time=100)
        self.assertTrue(self.client.touch("k", 10))
        self.assertEqual(self.client.get("k"), "v")

    def test_delete(self):
        self.assertFalse(self.client.delete("k"))
        self.client.set("k", "v")
        self.assertTrue(self.client.delete("k"))
        self.assertIsNone(self.client.get("k"))

    def test_large_values(self):
        self.assertTrue(self.client.set("large", place.LARGE))
        self.assertEqual(self.client.get("large"), place.LARGE)
        with self.assertRaises(pylibmc.Error):
            self.client.set("large", place.TOO_LARGE)
        self.assertIsNone(self.client.get("large"))

    def test_stats(self):
        self.client.set("k", "v")

        def items():
            (_, stats), = self.client.get_stats()
            return stats[b"curr_items" if b"curr_items" in stats else "curr_items"]

        self.assertEqual(place.wait_for_items(1, items), 1)
        (_, settings), = self.client.get_stats("settings")
        self.assertTrue(settings)

    def test_without_blocking(self):
        client = self.connect(no_block=True, tcp_nodelay=True)
        for number in range(500):
            client.set("a%d" % number, b"x" * 5000)
        self.assertEqual(client.get("a499"), b"x" * 5000)

    def test_without_replies(self):
        client = self.connect(_noreply=True)
        for number in range(500):
            client.set("q%d" % number, b"%d" % number)
            client.append("q%d" % number, b"+")
        self.assertEqual(client.get("q499"), b"499+")

    def test_a_restart_of_the_server(self):
        self.client.set("k", "v")
        place.restart_server()
        end = time.monotonic() + 20
        while True:  # It gives a server that went away a second before it tries again.
            try:
                self.assertIsNone(self.client.get("k"))
                self.assertTrue(self.client.set("k", "v2"))
                break
            except pylibmc.Error:
                if time.monotonic() > end:
                    raise
        self.assertEqual(self.client.get("k"), "v2")


class TextOverTcp(Suite, unittest.TestCase):
    address = place.TCP


class TextOverUnixSocket(Suite, unittest.TestCase):
    address = place.UNIX


class BinaryOverTcp(Suite, unittest.TestCase):
    address = place.TCP
    binary = True


class BinaryOverUnixSocket(Suite, unittest.TestCase):
    address = place.UNIX
    binary = True


if __name__ == "__main__":
    unittest.main()
