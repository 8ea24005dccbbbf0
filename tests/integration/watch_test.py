"""watch and stats conns over sockets: across workers, with slow watchers, until the end."""
import re
import select
import time
import unittest

from podcached import Server, wait_until


class Watch(unittest.TestCase):
    def watcher(self, server, streams):
        client = server.connect()
        self.assertEqual(client.ask(b"watch %s\r\n" % streams), b"OK\r\n")
        return client

    def event(self, watcher):
        """A line without its time and number."""
        return re.fullmatch(rb"ts=\d+\.\d{6} gid=\d+ (.*)\n", watcher.until(b"\n")).group(1)

    def test_ids_are_those_of_stats_conns(self):
        with Server("-t", "3") as server:
            watcher = self.watcher(server, b"fetchers mutations")
            for _ in range(6):
                client = server.connect()
                client.send(b"stats conns\r\n")
                conns = re.findall(rb"STAT (\d+):(\S+) (.*)\r\n", client.until(b"END\r\n"))
                ids = [int(number) for number, _, _ in conns]
                self.assertEqual(ids, sorted(ids))
                mine = conns[-1][0]
                client.send(b"get nothing\r\nset k 0 0 1 noreply\r\nv\r\n")
                self.assertEqual(client.until(b"END\r\n"), b"END\r\n")
                self.assertEqual(self.event(watcher), b"type=item_get key=nothing status=not_found clsid=0 cfd=%s size=0" % mine)
                self.assertTrue(self.event(watcher).startswith(b"type=item_get key=k "))
                self.assertEqual(self.event(watcher),
                                 b"type=item_store key=k status=stored cmd=set ttl=0 clsid=1 cfd=%s size=1" % mine)

    def test_states(self):
        with Server() as server:
            asking, half, refused, line = (server.connect() for _ in range(4))
            watcher = self.watcher(server, b"connevents")
            half.send(b"set a 0 0 10\r\nabc")
            refused.send(b"set a 0 0 100000000\r\nabc")
            line.send(b"get a")
            wait_until(lambda: b"conn_nread" in self.conns(asking), "half a value")
            states = wait_until(lambda: self.states(asking, {"conn_listening", "conn_parse_cmd", "conn_nread", "conn_swallow",
                                                             "conn_read", "conn_watch"}), "every state")
            self.assertEqual(states.count("conn_watch"), 1)
            text = self.conns(asking).decode()
            port = server.port
            self.assertRegex(text, r"STAT \d+:addr tcp:127\.0\.0\.1:\d+\r\nSTAT \d+:listen_addr tcp:127\.0\.0\.1:%d\r\n" % port)
            self.assertRegex(text, r"STAT \d+:addr tcp:0\.0\.0\.0:%d\r\nSTAT \d+:state conn_listening\r\n" % port)
            watcher.close()

    def conns(self, client):
        client.send(b"stats conns\r\n")
        return client.until(b"END\r\n")

    def states(self, client, wanted):
        states = re.findall(r":state (\S+)", self.conns(client).decode())
        return states if set(states) >= wanted else None

    def test_connections_come_and_go(self):
        with Server("-o", "idle_timeout=1") as server:
            watcher = self.watcher(server, b"connevents")

            def events_of(action, reason):
                client = server.connect()
                address = b"rip=127.0.0.1 rport=%d transport=tcp" % client.socket.getsockname()[1]
                opened = self.event(watcher)
                number = re.fullmatch(rb"type=conn_new %s cfd=(\d+)" % re.escape(address), opened).group(1)
                action(client)
                self.assertEqual(self.event(watcher), b"type=conn_close %s reason=%s cfd=%s" % (address, reason, number))
            events_of(lambda client: client.send(b"quit\r\n"), b"normal")
            events_of(lambda client: client.close(), b"normal")
            events_of(lambda client: client.send(b"GET / HTTP/1.1\r\n"), b"error")
            events_of(lambda client: client.send(b"x" * 3000), b"error")
            events_of(lambda client: None, b"idle_timeout")

    def test_a_slow_watcher_slows_nobody_and_is_told(self):
        with Server("-o", "watcher_logbuf_size=8") as server:
            slow = server.connect(receive_buffer=4096)
            self.assertEqual(slow.ask(b"watch\r\n"), b"OK\r\n")
            client = server.connect()
            batch = b"".join(b"get %s%d\r\n" % (b"k" * 200, n) for n in range(100))
            end = time.monotonic() + 60
            while int(client.stats()["log_watcher_skipped"]) == 0:
                self.assertLess(time.monotonic(), end)
                for _ in range(100):
                    client.send(batch)
                    self.assertEqual(client.receive(500), b"END\r\n" * 100)
            stats = client.stats()
            self.assertEqual(stats["log_watchers"], "1")
            self.assertGreater(int(stats["log_worker_written"]), 0)
            found = False
            for count in range(1_000_000):
                if count % 50 == 0:
                    client.ask(b"get more\r\n")
                line = slow.until(b"\n")
                if found:
                    break
                found = line.startswith(b"skipped=")
                self.assertRegex(line, rb"^(skipped=\d+|ts=\d+\.\d{6} gid=\d+ type=item_get .*)\n$")
            self.assertTrue(found)
            self.assertRegex(line, rb"^ts=")
            slow.close()
            wait_until(lambda: client.stats()["log_watchers"] == "0", "the end of the watcher")

    def test_refused(self):
        with Server("-W") as server:
            client = server.connect()
            self.assertEqual(client.ask(b"watch\r\n"), b"CLIENT_ERROR watch commands not allowed\r\n")
            self.assertTrue(client.ask(b"version\r\n").startswith(b"VERSION"))
        with Server() as server:
            watchers = [self.watcher(server, b"") for _ in range(20)]
            client = server.connect()
            self.assertEqual(client.ask(b"watch\r\n"), b"WATCHER_TOO_MANY log watcher limit reached\r\n")
            watchers[3].close()
            wait_until(lambda: client.stats()["log_watchers"] == "19", "a place")
            self.assertEqual(client.ask(b"watch\r\n"), b"OK\r\n")

    def test_evictions(self):
        with Server("-m", "16") as server:
            client = server.connect()
            for number in range(3000):
                client.send(b"set key%d 0 0 8000 noreply\r\n%s\r\n" % (number, b"v" * 8000))
            client.ask(b"version\r\n")
            watcher = self.watcher(server, b"evictions")
            client.set(b"onemore", b"v" * 8000)
            self.assertRegex(self.event(watcher), rb"^type=eviction key=key\d+ fetch=no ttl=-1 la=\d+ clsid=1 size=8000$")

    def test_a_shutdown_ends_watchers(self):
        with Server() as server:
            watcher = self.watcher(server, b"fetchers")
            code, _ = server.signal_and_wait(15)
            self.assertEqual(code, 0)
            self.assertTrue(watcher.closed())


class ReadBuffers(unittest.TestCase):
    def test_half_requests_beyond_the_limit_are_refused(self):
        with Server("-o", "read_buf_mem_limit=1", "-c", "2000") as server:
            good = server.connect()
            clients = [server.connect() for _ in range(700)]
            for client in clients:
                client.send(b"x" * 2000)
            wait_until(lambda: int(good.stats()["read_buf_oom"]) >= 100, "refusals")
            self.assertLessEqual(int(good.stats()["read_buf_bytes"]), (1 << 20) + 4096)
            answered, _, _ = select.select([client.socket for client in clients], [], [], 10)
            self.assertGreaterEqual(len(answered), 100)
            for client in clients:
                if client.socket in answered:
                    self.assertTrue(client.closed())
                    self.assertEqual(client.received, b"SERVER_ERROR out of memory reading request\r\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
