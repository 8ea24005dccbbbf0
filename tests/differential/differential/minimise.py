"""Makes a sequence that shows a disagreement as short as can be: delta debugging over its requests, then single groups."""
from .compare import Sequence

TRIES = 400


def alone(sequence, requests):
    """Every request its own group, uncut."""
    return Sequence(sequence.protocol, [[request] for request in requests], [()] * len(requests))


def together(sequence, requests):
    return Sequence(sequence.protocol, [list(requests)], [()])


def minimise(pair, sequence):
    """The shortest sequence found that still disagrees, and its disagreement."""
    for shape in (alone, together):
        requests = sequence.requests()
        if pair.hold(shape(sequence, requests)):
            best = reduce(lambda kept: pair.hold(shape(sequence, kept)) is not None, requests)
            final = shape(sequence, best)
            return final, pair.hold(final)
    return sequence, pair.hold(sequence)  # Only in these groups, or only with these cuts.


def reduce(disagrees, requests):
    pieces = 2
    tries = 0
    while len(requests) >= 2 and tries < TRIES:
        size = max(len(requests) // pieces, 1)
        for start in range(0, len(requests), size):
            tries += 1
            fewer = requests[:start] + requests[start + size:]
            if fewer and disagrees(fewer):
                requests = fewer
                pieces = max(pieces - 1, 2)
                break
        else:
            if size == 1:
                break
            pieces = min(pieces * 2, len(requests))
    return requests
