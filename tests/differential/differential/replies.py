"""Replies with all taken out that may differ: CAS ids that a server chose, times, sizes, versions, figures."""
import re
import struct

from . import numbers

# CAS ids that conversations choose themselves are far from those that servers choose, which are not told from each other.
CHOSEN_CAS = {0, 2**64 - 1} | set(numbers.CAS)


def cas(number):
    return b"%d" % number if number in CHOSEN_CAS else b"CAS"


def ttl(text):
    """Seconds left, to ten: both servers get a request at almost the same time."""
    seconds = int(text)
    return text if seconds < 100 else b"~%d" % ((seconds + 5) // 10)


def meta_flags(tokens):
    result = []
    for token in tokens:
        if re.fullmatch(rb"c\d+", token):
            token = b"c" + cas(int(token[1:]))
        elif re.fullmatch(rb"t\d+", token):
            token = b"t" + ttl(token[1:])
        elif re.fullmatch(rb"l\d", token):
            token = b"l~"
        result.append(token)
    return result


def text_line(line):
    tokens = line.split(b" ")
    if tokens[0] == b"VERSION":
        return b"VERSION"
    if tokens[0] == b"STAT":
        return None
    if tokens[0] == b"VALUE" and len(tokens) == 5 and tokens[4].isdigit():
        return b" ".join(tokens[:4] + [cas(int(tokens[4]))])
    if tokens[0] in (b"HD", b"VA", b"EN", b"NF", b"NS", b"EX"):
        return b" ".join(meta_flags(tokens))
    if tokens[0] == b"ME":
        line = re.sub(rb" cas=(\d+)", lambda found: b" cas=" + cas(int(found.group(1))), line)
        line = re.sub(rb" exp=(\d+)", lambda found: b" exp=" + ttl(found.group(1)), line)
        return re.sub(rb" (la|cls|size)=\d+", rb" \1=~", line)
    return line


def text(data):
    """Lines, each with its data block, one an entry."""
    result = []
    at = 0
    while at < len(data):
        end = data.find(b"\r\n", at)
        if end < 0:
            result.append(data[at:])
            break
        line = data[at:end]
        at = end + 2
        kept = text_line(line)
        if kept is not None:
            result.append(kept)
        length = re.match(rb"VALUE \S+ \d+ (\d+)|VA (\d+)", line)
        if length:
            size = int(length.group(1) or length.group(2))
            result[-1] += b"\r\n" + data[at:at + size + 2]
            at += size + 2
    return result


def binary(data):
    """Packets, one an entry: opcode, status, opaque, CAS, extras, key, value."""
    result = []
    at = 0
    while len(data) - at >= 24:
        magic, opcode, key_length, extras_length, _, status, total, opaque, unique = struct.unpack_from(">BBHBBHIIQ", data, at)
        body = data[at + 24:at + 24 + total]
        at += 24 + total
        if opcode == 0x10 and key_length:
            continue
        if opcode == 0x0B:
            body = b"VERSION"
        result.append(b"%02x op=%02x status=%02x key=%d extras=%d opaque=%d cas=%s " %
                      (magic, opcode, status, key_length, extras_length, opaque, cas(unique)) + body)
    if at < len(data):
        result.append(b"rest " + data[at:])
    return result
