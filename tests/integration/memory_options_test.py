"""-L (large pages) and -k (locked memory): what they ask of the kernel, and that a kernel which refuses only costs a warning."""
import os
import re
import resource
import unittest

from podcached import Server, needs_real_memory, wait_until

MIB = 1 << 20
THP = "/sys/kernel/mm/transparent_hugepage/enabled"


def offered():
    try:
        with open(THP) as choices:
            return "[never]" not in choices.read()
    except OSError:
        return False


def mappings(pid):
    """Of each mapping its size, its flags, and how much of it is large pages, in KiB."""
    with open("/proc/%d/smaps" % pid) as smaps:
        for text in re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", smaps.read(), flags=re.M)[1:]:
            fields = dict(re.findall(r"^(\w+): +(.*)$", text, re.M))
            yield int(fields["Size"].split()[0]), fields.get("VmFlags", "").split(), int(fields["AnonHugePages"].split()[0])


def fill(server, megabytes):
    client = server.connect()
    for number in range(megabytes):
        assert client.set(b"k%d" % number, b"v" * 1000000) == b"STORED\r\n"
    return client


def locked_kib(pid):
    with open("/proc/%d/status" % pid) as status:
        return int(re.search(r"VmLck:\s+(\d+)", status.read()).group(1))


class LargePages(unittest.TestCase):
    @needs_real_memory
    def test_items_lie_in_large_pages(self):
        with Server("-m", "512", "-L") as server:
            fill(server, 64)
            advised = [one for one in mappings(server.pid) if "hg" in one[1]]
            if not offered():
                self.assertIn("-L: the kernel gives no large pages", server.errors())
                return
            self.assertEqual(server.errors(), "")
            self.assertGreaterEqual(max(size for size, _, _ in advised), 512 << 10)
            # The kernel may have none left for a part of them.
            self.assertGreater(sum(large for _, _, large in advised), 16 << 10)

    @needs_real_memory
    def test_not_unless_asked_for(self):
        with Server("-m", "512") as server:
            fill(server, 64)
            self.assertEqual([one for one in mappings(server.pid) if "hg" in one[1]], [])

    @needs_real_memory
    def test_memory_still_goes_back_to_the_kernel(self):
        with Server("-m", "640", "-L") as server:
            client = fill(server, 560)
            self.assertGreater(server.rss(), 520 * MIB)
            self.assertEqual(client.ask(b"cache_memlimit 300\r\n"), b"OK\r\n")
            wait_until(lambda: server.rss() < 306 * MIB, "the shrink")
            self.assertEqual(client.set(b"after", b"v"), b"STORED\r\n")

    def test_too_little_memory_for_them_is_a_warning(self):
        with Server("-m", "64", "-L") as server:
            self.assertIn("too small for large pages", server.errors())
            self.assertEqual(server.connect().set(b"k", b"v"), b"STORED\r\n")


class LockedMemory(unittest.TestCase):
    @needs_real_memory
    def test_memory_is_locked_as_it_is_used(self):
        if os.getuid() != 0:
            self.skipTest("root only")
        with Server("-m", "256", "-k") as server:
            if "-k: " in server.errors():
                self.skipTest("not allowed here: " + server.errors())
            self.assertGreater(locked_kib(server.pid), 0)
            # Address space that is reserved is not memory.
            self.assertLess(server.rss(), 150 * MIB)
            fill(server, 100)
            self.assertGreater(server.rss(), 95 * MIB)

    @needs_real_memory
    def test_a_refusal_is_a_warning(self):
        if os.getuid() != 0:
            self.skipTest("root only")

        def powerless():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
            os.setuid(65534)
        with Server("-m", "64", "-k", before_exec=powerless, readable_by_all=True) as server:
            self.assertIn("-k: cannot lock memory", server.errors())
            self.assertEqual(locked_kib(server.pid), 0)
            self.assertEqual(server.connect().set(b"k", b"v"), b"STORED\r\n")


if __name__ == "__main__":
    unittest.main()
