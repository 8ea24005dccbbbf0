"""Whether the transcripts have every command, opcode, flag, mode, status and error text at least once, as the sources list them."""
import pathlib
import re
import unittest

HERE = pathlib.Path(__file__).parent
PROTOCOL = HERE.parent.parent / 'server/protocol'

# What no conversation over one stream can show, and where it is tested instead.
ELSEWHERE = {
    'SERVER_ERROR reply too large for a datagram',  # UDP: protocols_test.py
}
HOOKS = {'debugtime'}  # Only in test builds: memcached's own expirations.t and stats.t
META_FLAGS = {'mg': 'bcCEfhkltsOquvNRTPL', 'ms': 'bcCEFIkOqsTNMPL', 'md': 'bcCEFIkOqTxPL', 'ma': 'bcCEkOqtvNTMDJPL'}
META_MODES = {'ms': 'SEAPR', 'ma': 'ID+-'}
OPCODES = [*range(0x00, 0x1b), *range(0x1c, 0x25), *range(0x30, 0x3d)]
OPCODES.remove(0x1f)


def lines():
    for path in sorted(HERE.rglob('*.transcript')):
        yield from path.read_text().splitlines()


def source(name):
    return (PROTOCOL / name).read_text()


class Coverage(unittest.TestCase):
    def setUp(self):
        everything = list(lines())
        # Several requests may stand on one line.
        self.asked = [request for line in everything if re.match(r'>>? ', line)
                      for request in re.split(r'\\r\\n|\\n', line.split(' ', 1)[1])]
        self.answered = [line for line in everything if line.startswith('<')]
        self.packets = [line for line in everything if line.startswith('>p ')]

    def check(self, wanted, found):
        self.assertEqual([one for one in wanted if not found(one)], [])

    def test_every_text(self):
        texts = set(re.findall(r'^    "(.+)\\r\\n",$', source('encoders.cc'), re.M)) - ELSEWHERE
        self.assertGreater(len(texts), 50)
        self.check(sorted(texts), lambda text: f'< {text}' in self.answered)

    def test_every_status(self):
        named = dict(re.findall(r'^  (k\w+) = (\w+),', source('binary_encoders.h').split('enum class BinaryStatus')[1].split('};')[0],
                                re.M))
        texts = dict(re.findall(r'case BinaryStatus::(k\w+):\s+return "(.*)";', source('binary_encoders.cc')))
        self.assertGreater(len(texts), 8)

        def found(name):
            start = f'st={int(named[name], 0):x} ' if name != 'kOk' else ''
            ends = 'val=' + texts[name].replace(' ', r'\x20') if name in texts else ''
            return any(line.startswith('<p ') and start in line + ' ' and ends in line for line in self.answered)
        self.check(named, found)

    def test_every_command(self):
        verbs = source('verbs.cc')
        words = set(re.findall(r'case Pack\("(\w+)"\)|word == "(\w+)"', verbs))
        words = {one or other for one, other in words} - HOOKS
        words |= {'m' + letter for letter in re.findall(r"case '(\w)':", verbs)}
        self.assertGreater(len(words), 30)
        self.check(sorted(words), lambda word: any(request.split(' ')[0] == word for request in self.asked))

    def test_every_opcode(self):
        self.check([f'{opcode:02x}' for opcode in OPCODES],
                   lambda opcode: any(packet.split(' ')[1] == opcode for packet in self.packets))

    def flags(self, verb):
        """The flags behind this command, with what follows their letters."""
        for request in self.asked:
            words = request.split()
            if words and words[0] == verb:
                yield from words[3 if verb == 'ms' else 2:]

    def test_every_flag(self):
        for verb, letters in META_FLAGS.items():
            with self.subTest(verb):
                given = {flag[0] for flag in self.flags(verb)}
                self.check(letters, lambda letter: letter in given)

    def test_every_mode(self):
        for verb, letters in META_MODES.items():
            with self.subTest(verb):
                given = {flag[1:] for flag in self.flags(verb) if flag[0] == 'M'}
                self.check(letters, lambda letter: letter in given)

    def test_every_meta_status(self):
        self.check(['HD', 'VA', 'EN', 'NF', 'NS', 'EX', 'MN', 'ME'],
                   lambda status: any(re.match(rf'<~?n? ?{status}\b', line) for line in self.answered))


if __name__ == '__main__':
    unittest.main()
