"""Reads the text form of Prometheus metrics."""
import re
import urllib.request

LINE = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Samples:
    """One scrape: every series with its value."""

    def __init__(self, text):
        self._series = {}
        for line in text.splitlines():
            match = None if line.startswith("#") else LINE.match(line)
            if match:
                labels = frozenset(LABEL.findall(match.group(2) or ""))
                self._series[(match.group(1), labels)] = float(match.group(3))

    def get(self, name, **labels):
        """The one series with that name and those labels, or None."""
        return self._series.get((name, frozenset(labels.items())))

    def sum(self, name, **labels):
        """Over all series of that name that carry at least those labels."""
        wanted = set(labels.items())
        return sum(value for (each, has), value in self._series.items() if each == name and wanted <= has)


def scrape(address, port=9150, timeout=5):
    with urllib.request.urlopen(f"http://{address}:{port}/metrics", timeout=timeout) as reply:
        return Samples(reply.read().decode())
