"""Requests of the meta text protocol, mixed with classic ones."""
from . import classic, names, numbers

OPAQUES = [b"1", b"abc", b"k1", b"x" * 31, b"x" * 32, b""]
MODES = [b"S", b"E", b"A", b"P", b"R", b"I", b"D", b"+", b"-", b"s", b"Z", b"set", b"incr", b"INCR", b""]
CAS = [b"%d" % number for number in [0, 1, 2**64 - 1] + 2 * numbers.CAS]
LETTERS = b"bcfhklqstuvxIE"


def time(random):
    return random.choice([b"0", b"1000", b"30000", b"-1", b"2592000"]) if random.random() < 0.93 else numbers.odd_time(random)


def flag_with_argument(random):
    letter = random.choice([b"T", b"N", b"R", b"C", b"E", b"F", b"M", b"D", b"J", b"O", b"S", b"P", b"L", b"I"])
    if letter in (b"T", b"N", b"R"):
        return letter + time(random)
    if letter in (b"C", b"E"):
        return letter + (random.choice(CAS) if random.random() < 0.95 else numbers.any_number(random, 0))
    if letter == b"M":
        return letter + random.choice(MODES)
    if letter == b"O":
        return letter + random.choice(OPAQUES)
    if letter in (b"P", b"L"):
        return letter + b"hint"
    if letter == b"I":
        return letter
    return letter + numbers.any_number(random, 0.85)


# What a command makes something of is asked for more often than what it does not know.
USUAL = {b"mg": b"bcfhklqstuv", b"ms": b"bckqsIf", b"md": b"bkqIx", b"ma": b"bckqtv"}


def flags(random, verb):
    result = []
    for _ in range(random.choice([0, 1, 1, 2, 2, 3, 4, 6])):
        chance = random.random()
        if chance < 0.6:
            result.append(bytes([random.choice(USUAL[verb])]))
        elif chance < 0.95:
            result.append(flag_with_argument(random))
        elif chance < 0.99:
            result.append(bytes([random.choice(LETTERS)]))
        else:
            result.append(random.choice([b"!", b"\xff", b"z", b"Y1", b"v1", b"-", b"1"]))
    if random.random() < 0.9:  # Twice the same is an error, which need not be found every second time.
        seen = set()
        result = [flag for flag in result if not (flag[:1] in seen or seen.add(flag[:1]))]
    return result


def key_and_flags(random, verb):
    result = flags(random, verb)
    if b"b" not in result:
        return classic.key(random), result
    if random.random() < 0.05:
        return random.choice([b"!!!", b"abc", b"=", b"AAAA" * 90, b"TjAw"]), result
    return names.in_base64(random.choice(names.BINARY_KEYS)), result


def meta_set(random):
    key, result = key_and_flags(random, b"ms")
    data = classic.value(random)
    length = b"%d" % len(data) if random.random() < 0.97 else numbers.any_number(random)
    tokens = [b"ms", key, length] + result
    return classic.line(random, tokens) + classic.block(random, data)


def meta_other(random):
    verb = random.choices([b"mg", b"md", b"ma"], [50, 20, 30])[0]
    key, result = key_and_flags(random, verb)
    if verb == b"ma" and random.random() < 0.6:
        key = names.KEYS[-1]
        result = [flag for flag in result if flag != b"b"]
    return classic.line(random, [verb, key] + result)


def rest(random):
    return random.choice([
        b"mn\r\n", b"mn x\r\n", b"me\r\n", b"mg\r\n", b"ms\r\n", b"md\r\n", b"ma\r\n", b"mg \r\n", b"ms " + names.KEYS[0] + b"\r\n", b"mx a\r\n",
        b"m\r\n", b"me " + random.choice(names.KEYS) + b"\r\n", b"me " + names.in_base64(names.BINARY_KEYS[0]) + b" b\r\n",
        b"mg " + names.KEYS[0] + b" v" * 25 + b"\r\n", b"mg !!! b v\r\n", b"mg " + names.TOO_LONG_KEY + b" v\r\n",
        b"mg " + names.KEYS[0] + b" " + b" ".join(b"%c" % letter for letter in b"abcdefghijklmnopqrstuvwxyz") + b"\r\n"])


def request(random):
    kind = random.choices([meta_set, meta_other, rest, classic.request], [30, 50, 5, 15])[0]
    return kind(random)
