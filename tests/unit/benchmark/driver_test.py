"""The arithmetic of tools/bench: ratios, order of runs, discarded runs, the check of instructions, core lists."""
import os
import sys
import types
import unittest
from unittest import mock

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(TOP, "tools/lib"))

from bench import compare, hit_ratio, instructions, machine, report, servers  # noqa: E402


class Ratios(unittest.TestCase):
    def test_median_and_range_of_the_pairs(self):
        pairs = [({"us": ours}, {"us": peer}) for ours, peer in ((1.0, 3.0), (2.0, 4.0), (1.0, 2.5))]
        ratios, ratio, spread = compare.pair_ratios(pairs)
        self.assertEqual(ratios, [3.0, 2.0, 2.5])
        self.assertEqual(ratio, 2.5)
        self.assertAlmostEqual(spread, (3.0 - 2.0) / 2.5)

    def test_each_figure_has_its_own_median(self):
        self.assertEqual(compare.middle([{"a": 1, "b": 9}, {"a": 2, "b": 8}, {"a": 3, "b": 1}]), {"a": 2, "b": 8})


class Runs(unittest.TestCase):
    def measure(self, results, pairs=4):
        """Runs compare.measure on servers that are no processes; returns the result and the order of the runs."""
        order = []

        class Fake:
            def __init__(self, kind):
                self.kind = kind

            def __enter__(self):
                return self

            def __exit__(self, *_):
                pass

        def one_run(_plan, _workload, server):
            order.append(server.kind.name)
            return next(results, {"us": 1.0, "user_us": 0.5, "system_us": 0.5})

        plan = types.SimpleNamespace(pairs=pairs, start=lambda kind, _: Fake(kind))
        with mock.patch.object(compare, "one_run", one_run), \
                mock.patch.object(compare, "requests_per_receive", lambda *_: None):
            return compare.measure(plan, "get8", servers.Memcached(), lambda _: None), order

    def test_a_b_b_a(self):
        result, order = self.measure(iter(()))
        servers_only = [name for name in order if name in ("podcached", "memcached")]
        self.assertEqual(servers_only, ["podcached", "memcached", "memcached", "podcached"] * 2)
        self.assertEqual(result["ratio"], 1.0)
        self.assertEqual(result["stub_us"], 1.0)
        self.assertEqual(result["io_us"], 1.0)

    def test_a_pair_with_a_stolen_run_is_repeated(self):
        result, order = self.measure(iter((None,)), pairs=1)
        self.assertEqual(result["discarded"], 1)
        self.assertEqual(order.count("podcached"), 2)
        self.assertEqual(order.count("memcached"), 2)

    def test_too_many_stolen_runs_end_it(self):
        with self.assertRaises(RuntimeError):
            self.measure(iter([None] * 100), pairs=1)

    def test_cost_is_cpu_by_operations(self):
        load = {"operations": 2_000_000, "requests": 40_000, "seconds": 2.0, "server_user_us": 600_000,
                "server_system_us": 400_000, "gets": 10, "hits": 8}
        plan = types.SimpleNamespace(client_cpus={0}, warm_up=0, seconds=2, threads=1, shape=lambda _: {})
        server = types.SimpleNamespace(pid=1)
        with mock.patch.object(compare.client, "run", lambda *_, **__: load), \
                mock.patch.object(machine.CpuShares, "elapsed", lambda _: {"steal": 0.0, "busy_us": 0}):
            run = compare.one_run(plan, "get8", server)
        self.assertAlmostEqual(run["us"], 0.5)
        self.assertAlmostEqual(run["user_us"], 0.3)
        self.assertAlmostEqual(run["utilisation"], 0.5)
        self.assertEqual(run["misses"], 2)


class Instructions(unittest.TestCase):
    recorded = {"results": [{"workload": "get8", "part": "engine", "instructions": 1000, "stream": "s"}]}

    def failures(self, count, stream="s", part="engine"):
        now = [{"workload": "get8", "part": part, "instructions": count, "stream": stream}]
        return instructions.compare(now, self.recorded)[1]

    def test_three_percent(self):
        self.assertFalse(self.failures(1029))
        self.assertTrue(self.failures(1031))
        self.assertFalse(self.failures(500))

    def test_another_stream_or_none_recorded(self):
        self.assertTrue(self.failures(1000, stream="t"))
        self.assertTrue(self.failures(1000, part="session"))


class HitRatio(unittest.TestCase):
    def test_ours_gets_less_until_its_rss_fits(self):
        tried = []

        def replay(_kind, memory_mb, *_):
            tried.append(memory_mb)
            return {"rss_bytes": (memory_mb + 10) << 20, "memory_mb": memory_mb}

        with mock.patch.object(hit_ratio, "replay", replay):
            result = hit_ratio.replay_within(servers.Podcached(), 70 << 20, {0}, None, None)
        self.assertEqual(tried, [70, 60])
        self.assertEqual(result["memory_mb"], 60)


class Machine(unittest.TestCase):
    def test_lists_of_cores(self):
        self.assertEqual(machine.parse_cpus("0-2,4"), {0, 1, 2, 4})
        self.assertEqual(machine.parse_cpus("3"), {3})

    def test_server_and_client_are_apart(self):
        with mock.patch.object(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}):
            self.assertEqual(machine.default_cpus(2), ({0, 1}, {3}))

    def test_shares_of_the_processors_time(self):
        reads = iter([(10, 100, 1000), (15, 150, 1100)])
        with mock.patch.object(machine.CpuShares, "read", staticmethod(lambda: next(reads))):
            self.assertAlmostEqual(machine.CpuShares().elapsed()["steal"], 0.05)


class Tables(unittest.TestCase):
    def test_a_result_without_ceilings_or_counts(self):
        result = {"workload": "get8", "ratio": 1.5, "spread": 0.1, "ours_us": 1, "ours_user_us": 0.4, "ours_system_us": 0.6,
                  "peer_us": 1.5, "peer_user_us": 0.5, "peer_system_us": 1.0, "ours_requests_per_receive": None,
                  "peer_requests_per_receive": 7.96}
        header, line = report.rows([result])
        self.assertEqual(len(header), len(line))
        self.assertEqual(line[-4:], ("-", "-", "-", "-/8.0"))


if __name__ == "__main__":
    unittest.main()
