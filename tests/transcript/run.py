#!/usr/bin/env python3
"""Runs transcripts (see README.md) against a server; exits 1 if a case fails."""
import argparse
import pathlib
import re
import shlex
import socket
import struct
import subprocess
import sys
import tempfile
import time

TIMEOUT_SECONDS = 5
CUT_SECONDS = 0.05
START_SECONDS = 120  # The first start of the oracle fetches it.
# The answer to flush_all; servers that forbid it, or ask for a password first, start empty.
EMPTIED = (b'OK\r\n', b'CLIENT_ERROR flush_all not allowed\r\n', b'CLIENT_ERROR unauthenticated\r\n')
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


# A header of the binary protocol: magic, opcode, key, extras, data type, status or vbucket, body, opaque, cas.
HEADER = struct.Struct('>BBHBBHIIQ')
OPAQUE = 0x01020304
NOOP = '0a opaque=ffffffff'


def fields(text):
    """The opcode and the fields of a packet line."""
    opcode, *rest = text.split(' ')
    found = {}
    for one in rest:
        name, sign, value = re.fullmatch(r'(\w+)([=~])(.*)', one).groups()
        found[name + ('~' if sign == '~' else '')] = value
    return int(opcode, 16), found


def packet(text):
    """The request a line stands for."""
    opcode, given = fields(text)
    key, value = unescape(given.get('key', '')), unescape(given.get('val', ''))
    extras = bytes.fromhex(given.get('ext', '').replace('.', ''))
    body = extras + key + value
    return HEADER.pack(int(given.get('magic', '80'), 16), opcode, int(given.get('keylen', len(key))),
                       int(given.get('extlen', len(extras))), int(given.get('type', 0)), int(given.get('vbucket', 0)),
                       int(given.get('body', len(body))), int(given.get('opaque', f'{OPAQUE:x}'), 16),
                       int(given.get('cas', 0))) + body


def shown(reply):
    """A reply in the words of `<p`."""
    if len(reply) < HEADER.size:
        return repr(reply)
    magic, opcode, key, extras, kind, status, _, opaque, cas = HEADER.unpack(reply[:HEADER.size])
    body = reply[HEADER.size:]
    return (f'{opcode:02x} magic={magic:x} st={status:x} type={kind} ext={body[:extras].hex()} '
            f'key={body[extras:extras + key]!r} val={body[extras + key:][:300]!r} cas={cas} opaque={opaque:x}')


def fits(text, reply):
    """Whether a reply is the one a line describes, and what `cas=*` stood for."""
    opcode, given = fields(text)
    if len(reply) < HEADER.size:
        return False, ''
    magic, got_opcode, key, extras, kind, status, _, opaque, cas = HEADER.unpack(reply[:HEADER.size])
    body = reply[HEADER.size:]
    value = body[extras + key:]
    if 'val~' in given:
        value_fits = re.fullmatch(given['val~'], value.decode('latin-1')) is not None
    else:
        value_fits = value == unescape(given.get('val', ''))
    cas_fits = cas != 0 if given.get('cas') == '*' else cas == int(given.get('cas', 0))
    return (magic == 0x81 and kind == 0 and got_opcode == opcode and status == int(given.get('st', '0'), 16)
            and body[:extras] == bytes.fromhex(given.get('ext', '').replace('.', ''))
            and body[extras:extras + key] == unescape(given.get('key', '')) and value_fits and cas_fits
            and opaque == int(given.get('opaque', f'{OPAQUE:x}'), 16)), str(cas)


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
        self.is_binary = None

    def send(self, data):
        if data and self.is_binary is None:
            self.is_binary = data[0] == 0x80
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # The reply, or the lack of it, tells.

    def more(self):
        """False at the end of what the server sends."""
        try:
            data = self.socket.recv(1 << 20)
        except ConnectionResetError:
            data = b''
        self.received += data
        return data != b''

    def line(self):
        """The next line with its end; what there is when the server closed."""
        while b'\n' not in self.received and self.more():
            pass
        line, end, self.received = self.received.partition(b'\n')
        return line + end

    def packet(self):
        """The next binary reply; what there is when the server closed."""
        size = HEADER.size
        while True:
            if len(self.received) >= HEADER.size:
                size = HEADER.size + HEADER.unpack(self.received[:HEADER.size])[6]
            if len(self.received) >= size or not self.more():
                break
        reply, self.received = self.received[:size], self.received[size:]
        return reply

    def check_alive(self):
        """None if the server still answers in step, else what it did."""
        if self.is_binary:
            self.send(packet(NOOP))
            got = self.packet()
            return None if fits(NOOP, got)[0] else f'expected the reply of a Noop at the end, got {shown(got)}'
        self.send(b'version\r\n')
        got = self.line()
        if re.fullmatch(rb'VERSION \d+\.\d+\.\d+.*\r\n', got):
            return None
        return f'expected a VERSION line at the end, got {got[:300]!r}'


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
        elif kind == 'whole':
            continue  # for those who cut what is sent
        elif kind == 'options':
            continue  # see options_of
        elif kind in ('>', '>>', '<', '<~', '<~n', '>p', '<p', 'connect', 'cut', 'wait', 'closed', 'watching'):
            cases[-1][2].append((kind, text))
        else:
            sys.exit(f'{path}:{number}: unknown line: {raw}')
    return cases


def options_of(path):
    """What the server of this file is started with beside the usual, as a string for a shell; its folder is $folder."""
    found = re.search(r'^options (.*)$', path.read_text(), re.M)
    return found.group(1).replace('$folder', shlex.quote(str(path.parent))) if found else ''


def run(address, steps):
    """None if all is as expected, else what was not."""
    empty = Connection(address)
    empty.send(b'flush_all\r\n')
    if empty.line() not in EMPTIED:
        return 'flush_all failed'
    connections = [Connection(address)]
    pending, group = b'', ''
    closed = False
    try:
        for kind, text in steps + [('end', '')]:
            text = text.replace('$1', group)
            connection = connections[-1]
            if kind == '>':
                pending += unescape(text) + b'\r\n'
                continue
            if kind == '>>':
                pending += unescape(text)
                continue
            if kind == '>p':
                pending += packet(text)
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
            elif kind in ('<~', '<~n'):
                got = connection.line()
                end = '\r\n' if kind == '<~' else '\n'
                match = re.fullmatch(text, got.decode('latin-1').removesuffix(end))
                if not match or not got.endswith(end.encode()):
                    return f'expected a match of {text!r}, got {got[:300]!r}'
                group = match.group(1) if match.groups() else group
            elif kind == '<p':
                got = connection.packet()
                match, cas = fits(text, got)
                if not match:
                    return f'expected {text[:300]}, got {shown(got)}'
                group = cas if 'cas=*' in text else group
            elif kind == 'watching':
                closed = True  # It answers nothing more.
            elif kind == 'closed':
                got = connection.line()
                if got:
                    return f'expected the end of the connection, got {got[:300]!r}'
                closed = True
            if kind in ('connect', 'end'):
                problem = None if closed else connection.check_alive()
                if problem:
                    return problem
            if kind == 'connect':
                closed = False
                connections.append(Connection(address))
    except (socket.timeout, TimeoutError):
        return 'no answer in time'
    finally:
        for one in connections + [empty]:
            one.socket.close()
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


def run_files(address, files, memcached):
    """How many cases there were, and how many failed."""
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
    return count, failures


def run_started(command, files, memcached):
    """The same with one server for each set of options."""
    failures = count = 0
    groups = {}
    for path in files:
        groups.setdefault(options_of(path), []).append(path)
    for options, group in groups.items():
        with tempfile.TemporaryDirectory() as folder:
            process, address = start(f'{command} {options}', folder)
            try:
                found = run_files(address, group, memcached)
            finally:
                process.terminate()
                process.wait(10)
        count, failures = count + found[0], failures + found[1]
    return count, failures


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument('--memcached', action='store_true', help='the server is the oracle')
    server = arguments.add_mutually_exclusive_group(required=True)
    server.add_argument('--start', metavar='COMMAND', help='start this server and stop it afterwards')
    server.add_argument('--address', help='unix:/path or host:port of a running server')
    arguments.add_argument('files', nargs='*', type=pathlib.Path)
    options = arguments.parse_args()
    files = options.files or sorted(pathlib.Path(__file__).parent.rglob('*.transcript'))
    if options.address:
        count, failures = run_files(options.address, [path for path in files if not options_of(path)], options.memcached)
    else:
        count, failures = run_started(options.start, files, options.memcached)
    print(f'{count} cases, {failures} failed')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
