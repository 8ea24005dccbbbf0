"""Authentication (-Y): what is answered before and after, and how the file is read again.

AUTH_REFERENCE names another server's command (memcached 1.6.45's): then only the table is run, and against that one.
"""
import os
import shlex
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from podcached import Client, Server, run, wait_until

REFERENCE = shlex.split(os.environ.get("AUTH_REFERENCE", ""))
UNAUTHENTICATED = b"CLIENT_ERROR unauthenticated\r\n"

# Sent on a connection of its own, and everything that is answered; None: closed without an answer. A third value is the
# reference's answer where it differs (docs/protocol.md, Authentication).
TABLE = [
    (b"set foo 0 0 7\r\nfoo bar\r\n", b"STORED\r\n"),
    (b"set any 1 2 7 noreply\r\nfoo bar\r\nset a 0 0 1\r\nb\r\nget a\r\n", b"STORED\r\nSTORED\r\nVALUE a 0 1\r\nb\r\nEND\r\n"),
    (b"set foo 0 0 10\r\nbaaaz quux\r\n", b"STORED\r\n"),
    (b"set foo 0 0 7\r\nfoo bab\r\n", b"CLIENT_ERROR authentication failure\r\n"),
    (b"set foo 0 0 8\r\nfoo  bar\r\n", b"CLIENT_ERROR authentication failure\r\n"),
    (b"set foo 0 0 2\r\nhi\r\n", b"CLIENT_ERROR bad authentication token format\r\n"),
    (b"set foo 0 0 7\r\nfoo barxx", b"CLIENT_ERROR bad command line termination\r\n"),
    (b"set foo 0 0 16385\r\n", b"CLIENT_ERROR auth token too long\r\n"),
    (b"set foo 0 0 2147483646\r\n", b"CLIENT_ERROR auth token too long\r\n"),
    (b"set foo 0 0 16384\r\n" + b"u " + b"p" * 16382 + b"\r\n", b"CLIENT_ERROR authentication failure\r\n", None),
    (b"get foo\r\n", UNAUTHENTICATED),
    (b"version\r\n", UNAUTHENTICATED),
    (b"add foo 0 0 7\r\nfoo bar\r\n", UNAUTHENTICATED + UNAUTHENTICATED, UNAUTHENTICATED),
    (b"set foo 0 0\r\n", UNAUTHENTICATED),
    (b" set foo 0 0 7\r\n", UNAUTHENTICATED),
    (b"\x80\x0b" + b"\0" * 22 + b"\r\n", UNAUTHENTICATED),
    (b"GET / HTTP/1.1\r\n", UNAUTHENTICATED),
    (b"set k 0 0 7\r\nfoo bar\r\n\x80\x0b\r\n", b"STORED\r\nERROR\r\n"),
    (b"set foo 0 0 -1\r\n", UNAUTHENTICATED),
    (b"set foo 0 0 abc\r\n", UNAUTHENTICATED),
    (b"\r\n\r\n\r\n\r\n", None),
    (b"quit\r\n", None),
    (b"x" * 3000, None),
]


class Table(unittest.TestCase):
    def check(self, connect):
        for sent, *answers in TABLE:
            answer = answers[-1] if REFERENCE else answers[0]
            with self.subTest(sent=sent[:40]):
                client = connect()
                client.send(sent)
                if answer is None:
                    self.assertTrue(client.closed())
                    self.assertEqual(client.received, b"")
                else:
                    self.assertEqual(client.receive(len(answer)), answer)
                client.close()

    def test_answers(self):
        """S21 and its kind."""
        with tempfile.TemporaryDirectory() as folder:
            users = os.path.join(folder, "users")
            with open(users, "w") as file:
                file.write("foo:bar\nbaaaz:quux\n")
            if not REFERENCE:
                with Server("-Y", users) as server:
                    self.check(server.connect)
                return
            path = os.path.join(folder, "socket")
            process = subprocess.Popen(REFERENCE + ["-s", path, "-Y", users])
            try:
                wait_until(lambda: os.path.exists(path), "the server", 120)

                def connect():
                    sock = socket.socket(socket.AF_UNIX)
                    sock.connect(path)
                    return Client(sock)
                time.sleep(0.2)
                self.check(connect)
            finally:
                process.terminate()
                process.wait(10)


@unittest.skipIf(REFERENCE, "only the table")
class Reloading(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.users = os.path.join(self.folder.name, "users")

    def write(self, text, name="users"):
        """Replaced as a whole, as editors do it."""
        path = os.path.join(self.folder.name, name)
        with open(path + ".new", "w") as file:
            file.write(text)
        os.rename(path + ".new", path)

    def accepted(self, server, token):
        client = server.connect()
        reply = client.ask(b"set a 0 0 %d\r\n%s\r\n" % (len(token), token))
        client.close()
        return reply == b"STORED\r\n"

    def test_a_changed_file_and_a_bad_one(self):
        self.write("foo:bar\n")
        with Server("-Y", self.users) as server:
            old = server.connect()
            self.assertEqual(old.ask(b"set a 0 0 7\r\nfoo bar\r\n"), b"STORED\r\n")
            self.write("foo:new\n")
            wait_until(lambda: self.accepted(server, b"foo new"), "the new password")
            self.assertFalse(self.accepted(server, b"foo bar"))
            self.write("nonsense\n")
            wait_until(lambda: "line 1 is not user:password" in server.errors(), "the complaint")
            self.assertTrue(self.accepted(server, b"foo new"))
            # Who is in stays in.
            self.assertTrue(old.ask(b"version\r\n").startswith(b"VERSION"))
            stats = old.stats()
            self.assertGreaterEqual(int(stats["auth_cmds"]), 4)
            self.assertGreaterEqual(int(stats["auth_errors"]), 1)
            self.assertEqual(old.stats(b"settings")["auth_enabled_ascii"], self.users)

    def test_hangup(self):
        self.write("foo:bar\n")
        with Server("-Y", self.users, "-v") as server:
            server.process.send_signal(signal.SIGHUP)
            wait_until(lambda: "Authentication file read again" in server.errors(), "the log")
            self.assertTrue(self.accepted(server, b"foo bar"))

    def test_an_exchanged_secret(self):
        for name, password in (("one", "bar"), ("two", "baz")):
            os.mkdir(os.path.join(self.folder.name, name))
            self.write("foo:%s\n" % password, name + "/users")
        os.symlink("one", os.path.join(self.folder.name, "..data"))
        os.symlink("..data/users", self.users)
        with Server("-Y", self.users) as server:
            self.assertTrue(self.accepted(server, b"foo bar"))
            os.symlink("two", os.path.join(self.folder.name, "..data_tmp"))
            os.rename(os.path.join(self.folder.name, "..data_tmp"), os.path.join(self.folder.name, "..data"))
            wait_until(lambda: self.accepted(server, b"foo baz"), "the other secret")

    def test_bad_starts(self):
        self.write("nothing\n")
        for options, message in ((("-Y", self.users), "line 1 is not user:password"),
                                 (("-Y", self.users + "x"), "No such file"),
                                 (("-Y", self.users, "-B", "binary"), "exclude each other"),
                                 (("-Y", self.users, "-B", "auto"), "exclude each other"),
                                 (("-Y", self.users, "-l", "proto[binary]:127.0.0.1"), "exclude each other")):
            done = run("-u", "root", "-p", "-1", "--http-listen=off", "--admin-listen=off", *options)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
