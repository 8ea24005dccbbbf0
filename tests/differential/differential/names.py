"""Keys are the same length in every conversation and different in each, so that none sees what another one left."""
import base64

PLACE = b"N0000000:"  # Nine bytes: their base64 is whole, whatever follows.
PLACE_BASE64 = base64.b64encode(PLACE)
KEYS = [PLACE + name for name in (b"a", b"b", b"c", b"d", b"number")]
# Written in base64 always, and only they are: memcached remembers how a key was written when its item was stored.
BINARY_KEYS = [PLACE + name for name in (b"\x02", b"\xff\x80")]
LONG_KEY = PLACE + b"x" * (250 - len(PLACE))
TOO_LONG_KEY = LONG_KEY + b"x"


def prefix(number):
    return b"N%07d:" % number


def real(data, number):
    return data.replace(PLACE, prefix(number)).replace(PLACE_BASE64, base64.b64encode(prefix(number)))


def template(data, number):
    return data.replace(prefix(number), PLACE).replace(base64.b64encode(prefix(number)), PLACE_BASE64)


def in_base64(key):
    return base64.b64encode(key)
