"""Requests of the classic text protocol."""
from . import names, numbers

VALUES = [b"", b"x", b"hello", b"0", b"1", b"9", b"10", b"99", b"100", b"18446744073709551615", b"18446744073709551616", b"-5",
          b"+5", b" 5", b"5 ", b"1.5", b"a\r\nb", b"get k\r\n", b"\0\xff\x80", b"END\r\n"]


def key(random):
    chance = random.random()
    if chance < 0.9:
        return random.choice(names.KEYS)
    if chance < 0.94:
        return names.LONG_KEY
    if chance < 0.96:
        return names.TOO_LONG_KEY
    return names.PLACE + random.choice([b"\x01", b"\xff\xfe", b"noreply", b"a\0b", b"\x7f"])


def value(random):
    chance = random.random()
    if chance < 0.8:
        return random.choice(VALUES)
    if chance < 0.97:
        return bytes([random.randrange(97, 123)]) * random.choice([50, 300, 1000, 2047, 2048, 4096, 5000])
    return b"v" * random.choice([16383, 16384, 16385, 70000, 600000, 1050000])


def separator(random):
    return b"  " if random.random() < 0.03 else b" "


def line(random, tokens):
    text = separator(random).join(tokens)
    chance = random.random()
    if chance < 0.02:
        text += b" "
    return text + (b"\n" if chance > 0.96 else b"\r\n")


def with_noreply(random, tokens, chance=0.15):
    return tokens + [b"noreply"] if random.random() < chance else tokens


def block(random, data):
    """The data block: now and then not what the line said."""
    chance = random.random()
    if chance < 0.95:
        return data + b"\r\n"
    if chance < 0.96:
        return data + b"\n"
    if chance < 0.97:
        return data[:-1] + b"\r\n"
    if chance < 0.98:
        return data + b"zz\r\n"
    return data + b"XX"


def storage(random):
    verb = random.choice([b"set", b"set", b"set", b"add", b"replace", b"append", b"prepend", b"cas"])
    data = value(random)
    length = b"%d" % len(data) if random.random() < 0.96 else numbers.any_number(random)
    tokens = [verb, key(random), numbers.any_number(random, 0.9), numbers.any_time(random), length]
    if verb == b"cas":
        tokens.append(b"%d" % random.choice([0, 1] + numbers.CAS) if random.random() < 0.9 else numbers.any_number(random))
    if random.random() < 0.02:
        tokens.pop()
    tokens = with_noreply(random, tokens)
    if random.random() < 0.02:
        tokens.append(b"extra")
    return line(random, tokens) + block(random, data)


def retrieval(random):
    verb = random.choice([b"get", b"get", b"gets", b"gat", b"gats"])
    tokens = [verb]
    if verb.startswith(b"gat"):
        tokens.append(numbers.any_time(random, 0.95))
    tokens += [key(random) for _ in range(random.choice([0, 1, 1, 1, 2, 3, 30]))]
    return line(random, tokens)


def arithmetic(random):
    target = names.KEYS[-1] if random.random() < 0.7 else key(random)
    if random.random() < 0.3:
        number = random.choice([b"0", b"5", b"10", b"100", b"18446744073709551615"])
        return b"set %s 0 0 %d\r\n%s\r\n" % (target, len(number), number)
    tokens = [random.choice([b"incr", b"decr"]), target, numbers.any_number(random, 0.8)]
    return line(random, with_noreply(random, tokens))


def keyed(random):
    if random.random() < 0.5:
        tokens = [b"delete", key(random)] + random.choice([[], [], [], [b"0"], [b"5"], [b"a", b"b"]])
    else:
        tokens = [b"touch", key(random), numbers.any_time(random)]
    if random.random() < 0.03:
        tokens.pop()
    return line(random, with_noreply(random, tokens))


def other(random):
    return random.choice([
        b"\r\n", b"\n", b" \r\n", b"x\r\n", b"foo\r\n", b"GET a\r\n", b"get\r\n", b"get \r\n", b"set\r\n", b"set a\r\n", b"delete\r\n",
        b"incr\r\n", b"incr a\r\n", b"touch\r\n", b"touch a\r\n", b"gat\r\n", b"gat 0\r\n", b"cas a 0 0 1\r\n", b"verbosity\r\n",
        b"verbosity 0\r\n", b"verbosity a\r\n", b"verbosity 0 noreply\r\n", b"shutdown\r\n", b"shutdown graceful\r\n", b"quit now\r\n",
        b"flush_all\r\n", b"flush_all 0\r\n", b"flush_all -1\r\n", b"flush_all a\r\n", b"flush_all noreply\r\n",
        b"flush_all 0 noreply\r\n", b"stats\r\n", b"stats settings\r\n", b"stats items\r\n", b"stats slabs\r\n", b"stats foo\r\n",
        b"stats sizes\r\n", b"stats reset\r\n", b"stats conns\r\n", b"stats detail\r\n", b"stats detail off\r\n",
        b"stats cachedump\r\n", b"stats cachedump 1\r\n", b"stats cachedump 99 1\r\n", b"cache_memlimit\r\n", b"cache_memlimit a\r\n",
        b"cache_memlimit 7\r\n", b"slabs\r\n", b"slabs automove 2 3\r\n", b"slabs automove\r\n", b"slabs reassign a b\r\n", b"lru\r\n",
        b"lru foo\r\n", b"lru mode\r\n", b"lru tune 1\r\n", b"lru_crawler\r\n", b"lru_crawler foo\r\n", b"lru_crawler sleep a\r\n",
        b"lru_crawler sleep 2000000\r\n", b"watch foo\r\n", b"extstore\r\n", b"version x\r\n",
        b"refresh_certs\r\n", b"debugfoo\r\n", b"a" * 2000 + b"\r\n", b"get " + b"a" * 300 + b"\r\n", b"gets\r\n"])


def request(random):
    kind = random.choices([storage, retrieval, arithmetic, keyed, other], [40, 25, 15, 12, 8])[0]
    return kind(random)
