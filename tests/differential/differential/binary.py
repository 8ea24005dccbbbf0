"""Requests of the binary protocol."""
import struct

from . import classic, names, numbers

GET = (0x00, 0x09, 0x0C, 0x0D)
STORE = (0x01, 0x02, 0x03, 0x11, 0x12, 0x13)
DELETE = (0x04, 0x14)
ARITHMETIC = (0x05, 0x06, 0x15, 0x16)
CONCAT = (0x0E, 0x0F, 0x19, 0x1A)
TOUCH = (0x1C, 0x1D, 0x1E, 0x23, 0x24)
BARE = (0x0A, 0x0B, 0x08, 0x18)
KNOWN = GET + STORE + DELETE + ARITHMETIC + CONCAT + TOUCH + BARE + (0x07, 0x17, 0x10)
CAS = [0] * 5 + [1, 2**64 - 1] + numbers.CAS
TIMES = (0, 0, 0, 1000, 2592000, 2592001, 0xFFFFFFFF, 2000000000)
DELTAS = (0, 1, 5, 100, 2**63, 2**64 - 1)


def packet(opcode, extras=b"", key=b"", value=b"", cas=0, opaque=0, vbucket=0, magic=0x80, data_type=0, total=None):
    body = extras + key + value
    return struct.pack(">BBHBBHIIQ", magic, opcode, len(key), len(extras), data_type, vbucket,
                       len(body) if total is None else total, opaque, cas) + body


def parts(random):
    """opcode, extras, key, value of a request that makes sense."""
    kind = random.choices([GET, STORE, DELETE, ARITHMETIC, CONCAT, TOUCH, BARE, (0x10,)], [20, 30, 8, 15, 10, 10, 5, 2])[0]
    opcode = random.choice(kind)
    key = random.choice(names.KEYS) if random.random() < 0.95 else classic.key(random)
    if kind is STORE:
        return opcode, struct.pack(">II", random.choice((0, 5, 0xFFFFFFFF)), random.choice(TIMES)), key, classic.value(random)
    if kind is ARITHMETIC:
        key = names.KEYS[-1] if random.random() < 0.7 else key
        return opcode, struct.pack(">QQI", random.choice(DELTAS), random.choice(DELTAS), random.choice(TIMES)), key, b""
    if kind is CONCAT:
        return opcode, b"", key, classic.value(random)
    if kind is TOUCH:
        return opcode, struct.pack(">I", random.choice(TIMES)), key, b""
    if opcode in (0x08, 0x18):
        return opcode, random.choice([b"", struct.pack(">I", 0)]), b"", b""
    if kind is BARE:
        return opcode, b"", b"", b""
    if opcode == 0x10:
        return opcode, b"", random.choice([b"", b"settings", b"items", b"slabs", b"reset", b"foo"]), b""
    return opcode, b"", key, b""


def spoiled(random, opcode, extras, key, value):
    """The same with one thing wrong."""
    what = random.randrange(8)
    if what == 0:
        opcode = random.randrange(256)
    elif what == 1:
        extras = extras[:-1] if extras else b"\0\0\0\0"
    elif what == 2:
        key = b""
    elif what == 3:
        value = value + b"more"
    elif what == 4:
        key = names.TOO_LONG_KEY
    total = len(extras) + len(key) + len(value)
    if what == 5:
        total = random.choice([0, 1, max(total - 1, 0), 2**31, 2**32 - 1, 2**30 + 1])
    magic = random.choice([0x81, 0x00, 0x7F]) if what == 6 else 0x80
    data_type = 1 if what == 7 else 0
    return packet(opcode, extras, key, value, magic=magic, data_type=data_type, total=total, opaque=random.randrange(1 << 16))


def request(random):
    opcode, extras, key, value = parts(random)
    if random.random() < 0.05:
        return spoiled(random, opcode, extras, key, value)
    return packet(opcode, extras, key, value, cas=random.choice(CAS) if random.random() < 0.5 else 0,
                  opaque=random.randrange(1 << 16), vbucket=random.choice((0, 0, 0, 7)))
