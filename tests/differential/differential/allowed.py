"""The differences from memcached 1.6.45 that docs/protocol.md lists, and nothing else: each rule has the first cell of its row
there. What follows such a difference in the same conversation is not compared."""
import dataclasses
import re

from . import binary, names

NOT_A_NUMBER = b"CLIENT_ERROR cannot increment or decrement non-numeric value"
BAD_FORMAT = b"CLIENT_ERROR bad command line format"
STORAGE = rb"(?:set|add|replace|append|prepend|cas)"

RULES = []


@dataclasses.dataclass
class Answers:
    """Of one group of requests: what both said, whether they ended the connection, and all requests up to here."""
    group: list
    history: list
    theirs: list
    ours: list
    their_end: bool
    our_end: bool
    waiting: bool
    binary: bool

    def has(self, pattern):
        return any(re.search(pattern, request) for request in self.group)

    def had(self, pattern):
        return any(re.search(pattern, request) for request in self.history)

    def first_difference(self):
        return first_difference(self.theirs, self.ours)


def first_difference(theirs, ours):
    """The first entries that differ, None where one has no more."""
    for other, mine in zip(theirs, ours):
        if not same(other, mine):
            return other, mine
    at = min(len(theirs), len(ours))
    return (theirs[at] if at < len(theirs) else None, ours[at] if at < len(ours) else None)


def same(one, two):
    """A far ttl may differ by the second that passed between the two requests."""
    if one == two:
        return True
    far = re.compile(rb"(?<=[t=]~)\d+")
    if far.sub(b"", one) != far.sub(b"", two):
        return False
    return all(abs(int(a) - int(b)) <= 1 for a, b in zip(far.findall(one), far.findall(two)))


def all_same(theirs, ours):
    return len(theirs) == len(ours) and all(same(*pair) for pair in zip(theirs, ours))


def rule(row):
    """Registers a rule for a row of docs/protocol.md."""
    def register(function):
        RULES.append((row, function))
        return function
    return register


def undocumented(path):
    with open(path) as document:
        rows = {line.split("|")[1].strip() for line in document if line.startswith("|")}
    return [row for row, _ in RULES if row not in rows]


def reason(answers):
    return first_rule(answers) or several_reasons(answers)


def several_reasons(answers):
    """Different lines may differ for different reasons, as those of all keys at the end do; or one line for several. Where one
    of the two has said more than the other, lines are compared only up to where a rule knows the rest as a whole."""
    alike_in_form = len(answers.theirs) == len(answers.ours) and (answers.their_end, answers.waiting) == (answers.our_end, False)
    found = set()
    for at, (other, mine) in enumerate(zip(answers.theirs, answers.ours)):
        if same(other, mine):
            continue
        if not alike_in_form and found:
            words = first_rule(dataclasses.replace(answers, theirs=answers.theirs[at:], ours=answers.ours[at:]))
            if words:
                return " + ".join(sorted(found | {words}))
        one = dataclasses.replace(answers, theirs=[other], ours=[mine])
        words = first_rule(one) or several_in_a_line(one)
        if words is None:
            return None
        found.add(words)
    return " + ".join(sorted(found)) if alike_in_form else None


def first_rule(answers):
    return next((words for words, applies in RULES if applies(answers)), None)


def several_in_a_line(one):
    """All that may differ where its cause is there, taken out of a single line."""
    out = []
    if changed_number(one):
        out.append(rb" h[01]| fetch=\w+| [XWZ](?= |\r|$)| (t|exp=)\S+")
    if one.had(rb" E\d"):
        out.append(rb" c\S+")
    if one.had(rb" [NT]-"):
        out.append(rb"[t=](~\d+|0)(?= |\r|$)")
    if not out:
        return None
    theirs = one.theirs[0]
    for key in names.BINARY_KEYS:
        theirs = theirs.replace(b" k" + key, b" k" + names.in_base64(key) + b" b")
    taken_out = dataclasses.replace(one, theirs=[theirs])
    return "several of these in one line" if alike_without(taken_out, b"|".join(out)) else None


@rule("an over-long key in a retrieval line")
def over_long_key(answers):
    return answers.has(rb"^(get|gets|gat|gats) .*\S{251}") and b"" in answers.theirs


@rule("a line above 2048 bytes that comes in one read")
def long_line(answers):
    if not answers.our_end or re.search(rb"[^\n]{2049}", b"".join(answers.group)) is None:
        return False
    return not answers.their_end or answers.ours == answers.theirs[:len(answers.ours)]  # They met a quit behind it.


@rule("replies before a line or packet that closes the connection")
def sent_before_close(answers):
    theirs, ours = without_padding(answers.theirs), without_padding(answers.ours)
    return answers.our_end and answers.their_end and ours[:len(theirs)] == theirs


def without_padding(lines):
    """Without the spaces that may be in values, and the lengths that go with them."""
    lines = [re.sub(rb"^((?:VALUE \S+ \d+|VA)) \d+| s\d+", rb"\1", line) for line in lines]
    return [line.replace(b" ", b"") for line in lines]


@rule("`decr` to fewer digits, `incr` that wraps")
def unpadded(answers):
    arithmetic = rb"^\x80[\x05\x06\x15\x16]" if answers.binary else rb"^(incr|decr|ma) "
    appending = rb"^\x80[\x0e\x0f\x19\x1a]" if answers.binary else rb"^(append|prepend) |^ms .* M[AaPp]"
    if answers.had(arithmetic) and answers.had(appending):
        return True  # Behind those spaces there is something now, and what that is read as differs.
    return answers.had(arithmetic) and all_same(without_padding(answers.theirs), without_padding(answers.ours))


@rule("`incr`, `decr` on values like `-5`, `+5`, ` 5`, `5 `")
def signed_value(answers):
    other, mine = answers.first_difference()
    if answers.binary:
        # A quiet one says nothing there, so theirs is the answer to something later.
        quiet = mine is not None and re.search(rb"op=1[56] status=06", mine) is not None
        return quiet or mine is not None and b"status=06" in mine and (other is None or b"status=00" in other)
    quiet = answers.has(rb"^ma .* q|noreply")
    if mine == NOT_A_NUMBER and (quiet or other is not None and re.match(rb"\d+|HD|VA", other) is not None):
        return True
    # What is left after one whose error nobody saw.
    left = mine is not None and re.match(rb"VA(?s:.*)\r\n([+-]\d+| \d+|\d+ )\r\n", mine)
    return bool(left) and changed_number(answers)


@rule("exptime of a storage command beyond 32 bits")
def late(answers):
    for request in answers.history:
        found = re.match(rb"%s +[^ \n]+ +[^ \n]+ +\s*([+-]?\d+)" % STORAGE, request)
        if found and not -2**31 <= int(found.group(1)) < 2**31:
            return True
    return False


@rule("a lone sign as exptime, length or number of a flag")
def lone_sign(answers):
    return answers.has(rb"^(%s|gat|gats|touch|ms|flush_all) .*(?<=[ ])[+-](?=[ \r\n])" % STORAGE) or answers.has(
        rb"^m[sgad] .* [TNRCEFDJ][+-](?=[ \r\n])")


@rule("`noreply` on a storage command whose length cannot be read, or with too few arguments")
def silent_errors(answers):
    other, _ = answers.first_difference()
    return other == BAD_FORMAT and answers.has(rb"^%s .*noreply *\r?\n" % STORAGE)


@rule("`me` with a key in base64")
def me_in_base64(answers):
    other, mine = answers.first_difference()
    return answers.has(rb"^me \S+ b") and other == b"EN" and mine is not None and mine.startswith(b"ME ")


@rule("`ms` with a flag that is no letter")
def ms_swallows(answers):
    return answers.has(rb"^ms +\S+ +\d+ +(.* +)?[^A-Za-z ]") and (BAD_FORMAT in answers.theirs or answers.their_end)


@rule("an item that a flag of a base64 request created or replaced")
def base64_echo(answers):
    theirs = answers.theirs
    for key in names.BINARY_KEYS + [b"N00"]:
        theirs = [line.replace(b" k" + key, b" k" + names.in_base64(key) + b" b") for line in theirs]
    return theirs != answers.theirs and all_same(theirs, answers.ours)


@rule("`ma` with E, more digits than before, or while an earlier reply is being sent")
def arithmetic_cas(answers):
    compared = {line[:2] for line in answers.first_difference() if line}
    if answers.had(rb"^ma .* E\d") and answers.had(rb"^m[sad] .* C\d|^cas ") and b"EX" in compared:
        return True
    unique = re.compile(rb" c(\d+|CAS)| h[01]|(?<=^VALUE )(\S+ \d+ \d+) (\d+|CAS)(?=\r)")
    return answers.had(rb"^ma .* E\d") and [unique.sub(b"", line) for line in answers.theirs] == [
        unique.sub(b"", line) for line in answers.ours]


@rule("a storage command behind an `ms` with E whose data block was bad")
def cas_of_another(answers):
    ms = answers.had(rb"^ms .* E\d") and answers.had(rb"^%s " % STORAGE)
    return ms and alike_without(answers, rb" c(\d+|CAS)| (\d+|CAS)(?=\r)")


@rule("arithmetic with a CAS id on an empty or long value")
def compares_first(answers):
    other, mine = answers.first_difference()
    if answers.binary:
        return mine is not None and b"status=02" in mine and (other is None or b"status=06" in other)
    return answers.has(rb"^ma .* C\d") and other == NOT_A_NUMBER and mine is not None and mine.startswith(b"EX")


@rule("`ma`, `incr` to one more digit, or while an earlier reply is being sent")
def lost_time(answers):
    return answers.had(rb"^ma .* T-\d")  # Ours has expired, theirs is there.


@rule("an unfinished data block")
def early(answers):
    return answers.waiting and answers.ours[:len(answers.theirs)] == answers.theirs


@rule("`t` of an item with a negative ttl")
def born_expired(answers):
    ttl = re.compile(rb"[t=](~42949\d{4}|~4294967\d\d|0)(?= |\r|$)")
    return answers.had(rb" [NT]-") and [ttl.sub(b"", line) for line in answers.theirs] == [
        ttl.sub(b"", line) for line in answers.ours]


@rule("an unknown opcode with extras or key")
def unknown_opcode(answers):
    return answers.binary and any(
        len(request) > 24 and request[1] not in binary.KNOWN and (request[2:5] != b"\0\0\0") for request in answers.history)


@rule("SASL opcodes with illegal headers")
def illegal_sasl(answers):
    other, mine = answers.first_difference()
    return (answers.binary and mine is not None and re.search(rb"op=2[012] status=81", mine) is not None
            and (other is None or re.search(rb"op=2[012] status=04", other) is not None))


def changed_number(answers):
    return answers.had(rb"^\x80[\x05\x06\x15\x16]|^(incr|decr|ma) ")


def alike_without(answers, pattern):
    """Equal but for what the pattern matches, and for the spaces behind numbers."""
    theirs, ours = ([re.sub(pattern, b"", line) for line in lines] for lines in (answers.theirs, answers.ours))
    return all_same(without_padding(theirs), without_padding(ours))


@rule("`h`, `fetch=` after `ma`, `incr`")
def hit_mark(answers):
    return changed_number(answers) and alike_without(answers, rb" h[01]| fetch=\w+")


@rule("`ma`, `incr` to one more digit, or while an earlier reply is being sent")
def state_of_number(answers):
    return changed_number(answers) and alike_without(answers, rb" h[01]| fetch=\w+| [XWZ](?= |\r|$)| (t|exp=)\S+")


@rule("`mg N E0`, `ma E0`, `md x E0`")
def no_cas_chosen(answers):
    if not answers.had(rb" E0+[ \r\n]"):
        return False
    other, mine = answers.first_difference()
    # One item has the CAS value 0 and the other a large one: comparing with it comes out differently.
    compared = answers.has(rb" C\d") and all(line is not None and re.match(rb"(EX|HD|VA)\b", line) for line in (other, mine))
    return compared or alike_without(answers, rb" c\S+| h[01]| fetch=\w+")


@rule("an over-long opaque of `ma`, of `mg` with N or T")
def long_opaque(answers):
    return answers.had(rb"^m[ag] .* O\S{32}")


@rule("Touch, GAT, Stat with a value")
def touch_with_value(answers):
    return answers.binary and any(
        len(request) >= 24 and request[1] in binary.TOUCH + (0x10,) and
        int.from_bytes(request[8:12], "big") > request[4] + int.from_bytes(request[2:4], "big") for request in answers.history)


@rule("an illegal header")
def refused_at_once(answers):
    other, mine = answers.first_difference()
    return answers.binary and other is None and mine is not None and re.search(rb"status=(81|04)", mine) is not None


@rule("an `ms` that is too large, with an over-long opaque")
def too_large_and_opaque(answers):
    return answers.has(rb"^ms .* O\S{32}") and b"SERVER_ERROR object too large for cache" in answers.theirs


@rule("`watch`, dumps behind requests whose replies have just gone")
def pipelined(answers):
    return any(line is not None and line.startswith(b"ERROR cannot pipeline other commands") for line in answers.first_difference())
