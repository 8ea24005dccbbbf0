"""python-binary-memcached: binary, multi commands as pipelines of quiet opcodes."""
import unittest

import bmemcached

import place


class Suite:
    address = None

    def setUp(self):
        self.client = bmemcached.Client((self.address,))
        self.client.enable_retry_delay(False)
        self.client.flush_all()
        self.addCleanup(lambda: self.client.disconnect_all())

    def test_set_and_get(self):
        for value in (b"v\r\n\0", "text", 5, [1, 2], {"a": 1}, True):
            self.assertTrue(self.client.set("k", value))
            self.assertEqual(self.client.get("k"), value)
        self.assertIsNone(self.client.get("missing"))
        self.assertEqual(self.client.get("missing", "default"), "default")

    def test_add_and_replace(self):
        self.assertFalse(self.client.replace("k", "1"))
        self.assertTrue(self.client.add("k", "1"))
        self.assertFalse(self.client.add("k", "2"))
        self.assertTrue(self.client.replace("k", "3"))
        self.assertEqual(self.client.get("k"), "3")

    def test_multi(self):
        values = {"m%d" % number: "%d" % number for number in range(1000)}
        self.assertEqual(self.client.set_multi(values), [])
        self.assertEqual(self.client.get_multi(list(values) + ["missing"]), values)
        self.assertTrue(self.client.delete_multi(["m1", "m2"]))
        self.assertEqual(self.client.get_multi(["m1", "m2", "m3"]), {"m3": "3"})

    def test_multi_with_cas(self):
        stored = self.client.set_multi_cas({("a", None): "1", ("b", None): "2"})
        found = self.client.get_multi(["a", "b"], get_cas=True)
        self.assertEqual({key: value for key, (value, _) in found.items()}, {"a": "1", "b": "2"})
        self.assertTrue(all(unique > 0 for _, unique in found.values()))
        self.assertTrue(stored)

    def test_cas(self):
        self.assertFalse(self.client.cas("k", "1", 5))
        self.client.set("k", "1")
        value, unique = self.client.gets("k")
        self.assertEqual(value, "1")
        self.assertTrue(self.client.cas("k", "2", unique))
        self.assertFalse(self.client.cas("k", "3", unique))
        self.assertEqual(self.client.get("k", get_cas=True)[0], "2")
        self.assertFalse(self.client.delete("k", cas=unique))
        self.assertTrue(self.client.delete("k", cas=self.client.gets("k")[1]))

    def test_incr_and_decr(self):
        self.assertEqual(self.client.incr("n", 5, default=3), 3)
        self.assertEqual(self.client.incr("n", 5), 8)
        self.assertEqual(self.client.decr("n", 100), 0)
        self.assertEqual(self.client.decr("n2", 1, default=7), 7)

    def test_delete(self):
        self.client.set("k", "v")
        self.assertTrue(self.client.delete("k"))
        self.assertIsNone(self.client.get("k"))

    def test_large_values(self):
        self.assertTrue(self.client.set("large", place.LARGE, compress_level=0))
        self.assertEqual(self.client.get("large"), place.LARGE)
        self.assertTrue(self.client.set("large", "x" * 5000000, compress_level=9))
        self.assertEqual(self.client.get("large"), "x" * 5000000)
        with self.assertRaises(bmemcached.exceptions.MemcachedException):
            self.client.set("large", place.TOO_LARGE, compress_level=0)
        self.assertIsNone(self.client.get("large"))

    def test_stats(self):
        self.client.set("k", "v")

        def items():
            (figures,) = self.client.stats().values()
            return figures["curr_items"]

        self.assertEqual(place.wait_for_items(1, items), 1)
        (settings,) = self.client.stats("settings").values()
        self.assertIn("maxbytes", settings)

    def test_a_restart_of_the_server(self):
        self.client.set("k", "v")
        place.restart_server()
        if self.address == place.UNIX:  # It would wait for ever for the reply to a request that was never sent.
            self.client.disconnect_all()
        for _ in range(3):  # A lost connection reads as a miss and is opened anew by a later call.
            self.client.get("k")
        self.assertTrue(self.client.set("k", "v2"))
        self.assertEqual(self.client.get("k"), "v2")


class OverTcp(Suite, unittest.TestCase):
    address = place.TCP


class OverUnixSocket(Suite, unittest.TestCase):
    address = place.UNIX


if __name__ == "__main__":
    unittest.main()
