"""Holds a conversation with both servers and tells where they first disagree."""
import dataclasses

from . import allowed, names, numbers, replies, servers

# Items with CAS ids of our choosing, which every conversation begins with; the store commands of all protocols meet them.
PREAMBLE = [b"ms %s 5 E%d F7\r\nhello\r\n" % (names.KEYS[0], numbers.CAS[1]),
            b"ms %s 2 E%d\r\n41\r\n" % (names.KEYS[-1], numbers.CAS[2]),
            b"ms %s 0 E%d T1000\r\n\r\n" % (names.KEYS[1], numbers.CAS[1])]
# What is left at the end is compared too.
EPILOGUE = ([b"mg %s s v f t c h k\r\n" % key for key in names.KEYS + [names.LONG_KEY]] +
            [b"mg %s b s v f t c h k\r\n" % names.in_base64(key) for key in names.BINARY_KEYS])


@dataclasses.dataclass
class Sequence:
    """Requests in groups; a group is sent at once, cut where `cuts` say."""
    protocol: str
    groups: list
    cuts: list

    def requests(self):
        return [request for group in self.groups for request in group]


@dataclasses.dataclass
class Disagreement:
    group: int
    requests: list
    theirs: list
    ours: list
    how: str


class Pair:
    def __init__(self, reference, ours):
        self.servers = (reference, ours)
        self.number = 0
        self.requests = 0
        self.allowed = {}

    def hold(self, sequence):
        """None, or the first disagreement that is not on the list."""
        self.number += 1
        for request in PREAMBLE:
            self.aside([request])
        binary = sequence.protocol == "binary"
        talks = [servers.Conversation(server, binary, self.number) for server in self.servers]
        try:
            for index, group in enumerate(sequence.groups):
                found = self.compare(talks, index, sequence)
                if found is not None:
                    return found if found.how else None
                if talks[0].ended or talks[0].waiting:
                    break
        finally:
            for talk in talks:
                talk.close()
        theirs, ours = self.aside(EPILOGUE)
        if allowed.all_same(theirs, ours):
            return None
        history = sequence.requests()
        answers = allowed.Answers(history, history, theirs, ours, False, False, False, binary)
        return None if self.permitted(answers) else Disagreement(
            len(sequence.groups), EPILOGUE, theirs, ours, "what is left in the cache")

    def permitted(self, answers):
        reason = allowed.reason(answers)
        if reason:
            self.allowed[reason] = self.allowed.get(reason, 0) + 1
        return reason

    def aside(self, requests):
        """Text requests on connections of their own."""
        result = []
        for server in self.servers:
            talk = servers.Conversation(server, False, self.number)
            result.append(replies.text(talk.say(requests)))
            talk.close()
        return result

    def compare(self, talks, index, sequence):
        group = sequence.groups[index]
        said = [talk.say(group, sequence.cuts[index]) for talk in talks]
        self.requests += len(group)
        read = replies.binary if talks[0].binary else replies.text
        theirs, ours = (read(reply) for reply in said)
        ends = [(talk.ended, talk.waiting) for talk in talks]
        if allowed.all_same(theirs, ours) and ends[0] == ends[1]:
            return None
        history = [request for earlier in sequence.groups[:index + 1] for request in earlier]
        answers = allowed.Answers(group, history, theirs, ours, talks[0].ended, talks[1].ended,
                                  talks[0].waiting and talks[1].waiting, talks[0].binary)
        if self.permitted(answers):
            return Disagreement(index, group, theirs, ours, "")  # From here on the two caches differ.
        how = "replies" if theirs != ours else "(ended, waits) is %s theirs, %s ours" % tuple(ends)
        return Disagreement(index, group, theirs, ours, how)
