"""Addresses, ports, sockets, files, and what is refused before anything is opened."""
import os
import socket
import stat
import subprocess
import tempfile
import unittest

from podcached import PODCACHED, Client, Server, free_port, needs_side_doors, run, wait_until


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


class Addresses(unittest.TestCase):
    def expect_answer(self, client):
        self.assertTrue(client.ask(b"version\r\n").startswith(b"VERSION 1.6.45"))

    def test_any_port_serves_both_families(self):
        with Server() as server:
            self.expect_answer(server.connect())
            if has_ipv6():
                sock = socket.create_connection(("::1", int(server.ports()["INET6"])))
                self.expect_answer(server.keep(Client(sock)))

    def test_many_addresses(self):
        ports = [free_port() for _ in range(3)]
        with Server("-l", "127.0.0.1:%d,127.0.0.2:%d" % (ports[0], ports[1]), "-l", "tag_x:127.0.0.3:%d" % ports[2]) as server:
            for host, port in zip(("127.0.0.1", "127.0.0.2", "127.0.0.3"), ports):
                self.expect_answer(server.keep(Client(socket.create_connection((host, port)))))

    def test_loopback_only(self):
        with Server("--loopback") as server:
            self.expect_answer(server.connect())
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.2", server.port), 5)

    def test_unix_socket_replaces_tcp_and_a_stale_file(self):
        folder = tempfile.mkdtemp()
        path = os.path.join(folder, "c.sock")
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(path)
        with Server("-s", path, "-a", "0660", tcp=False) as server:
            wait_until(lambda: os.path.exists(path), "the socket")
            self.expect_answer(server.connect_unix(path))
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o660)
            self.assertEqual(server.ports(), {})
            second = run("-u", "root", "-s", path, "--http-listen=off", "--admin-listen=off")
            self.assertNotEqual(second.returncode, 0)
            self.assertIn(path, second.stderr)
        self.assertFalse(os.path.exists(path))
        os.rmdir(folder)

    def test_extra_unix_socket_beside_tcp(self):
        folder = tempfile.mkdtemp()
        path = os.path.join(folder, "c.sock")
        with Server("--extra-unix-socket", path) as server:
            self.expect_answer(server.connect())
            one = server.connect_unix(path)
            self.assertEqual(one.set(b"k", b"v"), b"STORED\r\n")
            self.assertEqual(server.connect().get(b"k"), b"v")
        os.rmdir(folder)

    def test_two_servers_without_own_admin_addresses(self):
        # The default ports of HTTP and gRPC are taken by whoever comes first; that must not keep the second from serving.
        folder = tempfile.mkdtemp()
        servers = []
        try:
            for number in range(2):
                path = os.path.join(folder, "s%d" % number)
                servers.append(subprocess.Popen([PODCACHED, "-u", "root", "-s", path], stderr=subprocess.DEVNULL))
                wait_until(lambda: os.path.exists(path), "socket of server %d" % number)
                client = Client(socket.socket(socket.AF_UNIX))
                client.socket.connect(path)
                self.expect_answer(client)
                client.close()
        finally:
            for server in servers:
                server.terminate()
            for server in servers:
                self.assertEqual(server.wait(10), 0)
        os.rmdir(folder)

    def test_pid_file_and_daemon(self):
        folder = tempfile.mkdtemp()
        pid_file = os.path.join(folder, "pid")
        path = os.path.join(folder, "s")
        subprocess.run([PODCACHED, "-d", "-u", "root", "-P", pid_file, "-s", path, "--http-listen=off",
                        "--admin-listen=off"], check=True, timeout=10)
        wait_until(lambda: os.path.exists(path) and os.path.exists(pid_file), "the daemon")
        with open(pid_file) as content:
            pid = int(content.read())
        client = Client(socket.socket(socket.AF_UNIX))
        client.socket.connect(path)
        self.assertEqual(client.stats()["pid"], str(pid))
        client.close()
        os.kill(pid, 15)
        wait_until(lambda: not os.path.exists(pid_file), "the end of the daemon")
        os.rmdir(folder)


class Refusals(unittest.TestCase):
    def expect_refusal(self, message, *options, env=None):
        done = run(*options, env=env)
        self.assertNotEqual(done.returncode, 0, options)
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.expect_refusal("127.0.0.1:%d" % port, "-u", "root", "-l", "127.0.0.1:%d" % port, "--http-listen=off",
                                "--admin-listen=off")

    @needs_side_doors
    def test_side_doors_that_cannot_open(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.expect_refusal(str(port), "-u", "root", "-p", "-1", "--admin-listen=off",
                                "--http-listen=127.0.0.1:%d" % port)
        self.expect_refusal("PODCACHE_ADMIN_CA", "-u", "root", "-p", "-1", "--http-listen=off", "--admin-listen=*:0")

    def test_bad_values_end_before_a_socket_opens(self):
        for options in (["-t", "0"], ["-m", "x"], ["-l", "no-such-host.invalid"], ["-o", "nope"], ["-U", "65536"], ["-Y", "/x"],
                        ["-B", "meta"], ["-S"], ["--nope"]):
            with self.subTest(options=options):
                done = run("-u", "root", "--http-listen=127.0.0.1:%d" % free_port(), *options)
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    @unittest.skipUnless(os.getuid() == 0, "root only")
    def test_root_must_name_a_user(self):
        self.expect_refusal("-u", "-p", "-1")
        self.expect_refusal("no-such-user", "-u", "no-such-user", "-p", "-1")

    @unittest.skipUnless(os.getuid() == 0, "root only")
    def test_gives_up_roots_rights(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            path = os.path.join(folder, "s")
            server = subprocess.Popen([PODCACHED, "-u", "nobody", "-s", path, "--http-listen=off", "--admin-listen=off"])
            try:
                wait_until(lambda: os.path.exists(path) or server.poll() is not None, "the socket")
                self.assertNotEqual(os.stat("/proc/%d" % server.pid).st_uid, 0)
            finally:
                server.terminate()
                self.assertEqual(server.wait(10), 0)

    def test_bad_pod_configuration(self):
        self.expect_refusal("PODCACHE_POD_CONFIG", "-u", "root", "-p", "-1", env={"PODCACHE_POD_CONFIG": "{"})

    def test_help_version_licence(self):
        for option in ("-h", "--help", "-V", "-i"):
            done = run(option)
            self.assertEqual(done.returncode, 0)
            self.assertTrue(done.stdout.startswith("podcached "))
        self.assertIn("unix-socket", run("-h").stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
