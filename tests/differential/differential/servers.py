"""The two servers on Unix sockets, and a conversation with one of them."""
import os
import select
import shutil
import tempfile
import time

from child_server import ChildServer, connect

from . import names

SILENCE_SECONDS = 0.4  # A server that has not answered the mark by then waits for more input.
TEXT_MARK = b"mg end-of-group k\r\n"
TEXT_MARK_REPLY = b"EN kend-of-group\r\n"
BINARY_MARK_OPAQUE = b"\xfe\xed\xfa\xce"
BINARY_MARK = b"\x80\x0a" + bytes(10) + BINARY_MARK_OPAQUE + bytes(8)
BINARY_MARK_REPLY = b"\x81\x0a" + bytes(10) + BINARY_MARK_OPAQUE + bytes(8)


class Server:
    def __init__(self, name, command):
        self.name = name
        self.folder = tempfile.mkdtemp(prefix="podcache-differential-")
        self.path = os.path.join(self.folder, "socket")
        # Memory enough that nothing is evicted; one thread, so that what was sent first is done first.
        self.child = ChildServer(command + ["-m", "1024", "-t", "1", "-s", self.path])
        try:
            self.child.wait_listening(self.path)
        except BaseException:
            self.stop()
            raise

    def connect(self):
        return connect(self.path, timeout=5)

    def errors(self):
        return self.child.said()[-4000:]

    def alive(self):
        return self.child.alive()

    def stop(self):
        code, said = self.child.stop()
        if code:
            print("%s ended with %d: %s" % (self.name, code, said[-4000:]))
        shutil.rmtree(self.folder, ignore_errors=True)
        return code


class Conversation:
    """One connection and one set of keys. `say` gives what came back before the mark, and how it ended."""

    def __init__(self, server, binary, number):
        self.connection = server.connect()
        self.binary = binary
        self.number = number
        self.received = b""
        self.ended = False
        self.waiting = False

    def say(self, requests, cuts=()):
        mark = BINARY_MARK if self.binary else TEXT_MARK
        data = names.real(b"".join(requests), self.number) + mark
        self.waiting = False
        try:
            start = 0
            for cut in sorted(cuts):
                if start < cut < len(data):
                    self.send(data[start:cut])
                    start = cut
            self.send(data[start:])
        except OSError:
            pass  # It has closed already; what it said is still to be read.
        return names.template(self.until_mark(), self.number)

    def send(self, data):
        """Reads while it sends: a server may stop reading from who does not take its replies."""
        self.connection.setblocking(False)
        left = memoryview(data)
        end = time.monotonic() + SILENCE_SECONDS
        while left and time.monotonic() < end:
            readable, writable, _ = select.select([self.connection], [self.connection], [], SILENCE_SECONDS)
            if writable:
                left = left[self.connection.send(left):]
            elif readable:
                piece = self.connection.recv(1 << 20)
                if not piece:
                    return
                self.received += piece
            end = time.monotonic() + SILENCE_SECONDS

    def until_mark(self):
        end = time.monotonic() + SILENCE_SECONDS
        while True:
            at = self.mark_end()
            if at is not None:
                reply, self.received = self.received[:at], self.received[at:]
                return reply
            left = end - time.monotonic()
            if left <= 0:
                self.waiting = True
                break
            self.connection.settimeout(left)
            try:
                piece = self.connection.recv(1 << 20)
            except TimeoutError:
                continue
            except ConnectionResetError:  # Closed with input left; said once, the replies come after.
                continue
            if not piece:
                self.ended = True
                break
            self.received += piece
        reply, self.received = self.received, b""
        return reply

    def mark_end(self):
        mark = BINARY_MARK_REPLY if self.binary else TEXT_MARK_REPLY
        at = self.received.find(mark)
        return None if at < 0 else at + len(mark)

    def close(self):
        self.connection.close()
