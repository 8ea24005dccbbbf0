"""Packets of the binary protocol, for tests (protocol.md 4)."""
import struct

HEADER = struct.Struct(">BBHBBHIIQ")


def request(opcode, key=b"", extras=b"", value=b"", cas=0, opaque=0):
    body = extras + key + value
    return HEADER.pack(0x80, opcode, len(key), len(extras), 0, 0, len(body), opaque, cas) + body


def store(opcode, key, value, flags=0, exptime=0, **more):
    return request(opcode, key, struct.pack(">II", flags, exptime), value, **more)


def increment(key, delta=1, initial=0, exptime=0, **more):
    return request(0x05, key, struct.pack(">QQI", delta, initial, exptime), **more)


class Reply:
    def __init__(self, header, body):
        (self.magic, self.opcode, keys, extras, _, self.status, _, self.opaque, self.cas) = HEADER.unpack(header)
        self.extras, self.key, self.value = body[:extras], body[extras:extras + keys], body[extras + keys:]


def size(header):
    """Of the body that follows."""
    return HEADER.unpack(header)[6]


def receive(client):
    """The next reply of a podcached.Client."""
    header = client.receive(HEADER.size)
    return Reply(header, client.receive(size(header)))


def split(data):
    """All replies in some bytes."""
    replies = []
    while data:
        end = HEADER.size + size(data[:HEADER.size])
        replies.append(Reply(data[:HEADER.size], data[HEADER.size:end]))
        data = data[end:]
    return replies
