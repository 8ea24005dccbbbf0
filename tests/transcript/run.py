#!/usr/bin/env python3
"""Runs transcripts (see README.md) against a server; exits 1 if a case fails."""
import argparse
import pathlib
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import time

TIMEOUT_SECONDS = 5
CUT_SECONDS = 0.05
START_SECONDS = 120  # The first start of the oracle fetches it.
ESCAPES = {'r': b'\r', 'n': b'\n', '0': b'\0', '\\': b'\\'}


def unescape(text):
    """Bytes of a transcript's text: escapes, then repetitions."""
    out = bytearray()
    i = 0
    while i < len(text):
        if text[i] == '\\':
            if text[i + 1] == 'x':
                out.append(int(text[i + 2:i + 4], 16))
                i += 4
            else:
                out += ESCAPES[text[i + 1]]
                i += 2
            continue
        repeat = re.match(r'\{([^{}]+)\*(\d+)\}', text[i:])
        if repeat:
            out += repeat.group(1).encode() * int(repeat.group(2))
            i += repeat.end()
        else:
            out += text[i].encode()
            i += 1
    return bytes(out)


class Connection:
    def __init__(self, address):
        if address.startswith('unix:'):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(TIMEOUT_SECONDS)
            self.socket.connect(address[len('unix:'):])
        else:
            host, port = address.rsplit(':', 1)
            self.socket = socket.create_connection((host.strip('[]'), int(port)), TIMEOUT_SECONDS)
        self.received = b''

    def send(self, data):
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # The reply, or the lack of it, tells.

    def line(self):
        """The next line with its end; what there is when the server closed."""
        while b'\n' not in self.received:
            try:
                data = self.socket.recv(1 << 20)
            except ConnectionResetError:
                data = b''
            if not data:
                break
            self.received += data
        line, end, self.received = self.received.partition(b'\n')
        return line + end


def parse(path):
    """[(title, why it differs or None, [(kind, text)])]"""
    cases = []
    for number, raw in enumerate(path.read_text().splitlines(), 1):
        kind, _, text = raw.partition(' ')
        if not raw or raw.startswith('#'):
            continue
        if kind == 'case':
            cases.append([f'{path.name}:{number} {text}', None, []])
        elif kind == 'differs':
            cases[-1][1] = text
        elif kind in ('>', '>>', '<', '<~', 'cut', 'wait', 'closed'):
            cases[-1][2].append((kind, text))
        else:
            sys.exit(f'{path}:{number}: unknown line: {raw}')
    return cases


def run(address, steps):
    """None if all is as expected, else what was not."""
    empty = Connection(address)
    empty.send(b'flush_all\r\n')
    if empty.line() != b'OK\r\n':
        return 'flush_all failed'
    connection = Connection(address)
    pending, group = b'', ''
    closed = False
    try:
        for kind, text in steps + [('end', '')]:
            text = text.replace('$1', group)
            if kind == '>':
                pending += unescape(text) + b'\r\n'
                continue
            if kind == '>>':
                pending += unescape(text)
                continue
            connection.send(pending)
            pending = b''
            if kind == 'cut':
                time.sleep(CUT_SECONDS)
            elif kind == 'wait':
                time.sleep(int(text) / 1000)
            elif kind == '<':
                wanted, got = unescape(text) + b'\r\n', connection.line()
                if got != wanted:
                    return f'expected {wanted[:300]!r}, got {got[:300]!r}'
            elif kind == '<~':
                got = connection.line()
                match = re.fullmatch(text, got.decode('latin-1').removesuffix('\r\n'))
                if not match or not got.endswith(b'\r\n'):
                    return f'expected a match of {text!r}, got {got[:300]!r}'
                group = match.group(1) if match.groups() else group
            elif kind == 'closed':
                got = connection.line()
                if got:
                    return f'expected the end of the connection, got {got[:300]!r}'
                closed = True
        if not closed:
            connection.send(b'version\r\n')
            got = connection.line()
            if not re.fullmatch(rb'VERSION \d+\.\d+\.\d+.*\r\n', got):
                return f'expected a VERSION line at the end, got {got[:300]!r}'
    except (socket.timeout, TimeoutError):
        return 'no answer in time'
    finally:
        connection.socket.close()
        empty.socket.close()
    return None


def start(command, folder):
    """Starts a server on a socket in the folder; returns the process and the address."""
    path = f'{folder}/socket'
    server = subprocess.Popen(shlex.split(command) + ['-s', path])
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            Connection(f'unix:{path}').socket.close()
            return server, f'unix:{path}'
        except OSError:
            time.sleep(0.05)
    server.kill()
    sys.exit(f'{command} did not come up')


def run_all(address, files, memcached):
    failures = count = 0
    for path in files:
        for title, differs, steps in parse(path):
            count += 1
            problem = run(address, steps)
            if memcached and differs:
                problem = None if problem else 'memcached answers like us: the note is out of date'
            if problem:
                failures += 1
                print(f'{title}: {problem}')
    print(f'{count} cases, {failures} failed')
    return 1 if failures else 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument('--memcached', action='store_true', help='the server is the oracle')
    server = arguments.add_mutually_exclusive_group(required=True)
    server.add_argument('--start', metavar='COMMAND', help='start this server and stop it afterwards')
    server.add_argument('--address', help='unix:/path or host:port of a running server')
    arguments.add_argument('files', nargs='*', type=pathlib.Path)
    options = arguments.parse_args()
    files = options.files or sorted(pathlib.Path(__file__).parent.glob('*.transcript'))
    if options.address:
        return run_all(options.address, files, options.memcached)
    with tempfile.TemporaryDirectory() as folder:
        process, address = start(options.start, folder)
        try:
            return run_all(address, files, options.memcached)
        finally:
            process.terminate()
            process.wait(10)


if __name__ == '__main__':
    sys.exit(main())
