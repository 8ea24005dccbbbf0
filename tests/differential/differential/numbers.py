"""Numbers as people and attackers write them: at the limits of 16, 31, 32, 63 and 64 bits, signed, padded, no numbers."""

PLAIN = [b"0", b"1", b"2", b"7", b"10", b"99", b"100"]
EDGES = [b"65535", b"65536", b"2147483645", b"2147483646", b"2147483647", b"2147483648", b"4294967295", b"4294967296",
         b"9223372036854775807", b"9223372036854775808", b"18446744073709551615", b"18446744073709551616",
         b"99999999999", b"999999999999", b"9999999999999999999999", b"99999999999999999999999"]
ODD = [b"-1", b"-2", b"-0", b"+1", b"+0", b"-2147483648", b"-2147483649", b"-9223372036854775808", b"00", b"01", b"007",
       b"0000000000001", b"000000000000000000000001", b"1.5", b"1e3", b"0x10", b"abc", b"1a", b"-", b"+", b"--1", b"1-", b"-a",
       b"1\t", b"\t1", b"1\0", b"1\r2"]


def any_number(random, plain=0.7):
    """Mostly harmless, so that a sequence gets somewhere."""
    if random.random() < plain:
        return random.choice(PLAIN)
    return random.choice(EDGES + ODD)


# Never, soon enough that no second matters, long ago, far away, and everything that is no time.
TIMES = [b"0", b"0", b"0", b"1000", b"2592000", b"-1", b"2592001", b"2000000000"]


# The same oddities, but none that means a few seconds: both servers get a request at almost the same time.
FEW = {b"+1", b"01", b"007", b"0000000000001", b"000000000000000000000001", b"1\t", b"\t1", b"1\0", b"1\r2", b"1-", b"1.5", b"1e3",
       b"1a", b"0x10"}
ODD_TIMES = [number for number in ODD if number not in FEW] + [b"+1000", b"01000", b"00000001000", b"000001000", b"1000\t", b"\t1000",
                                                              b"1000\0", b"1000\r2", b"1000-", b"1000.5", b"1000a", b"0x1000"]


def odd_time(random):
    return random.choice(EDGES + ODD_TIMES)


def any_time(random, plain=0.85):
    return random.choice(TIMES) if random.random() < plain else odd_time(random)


# CAS ids that items of a conversation begin with, and neighbours.
CAS = [900000000000 + more for more in range(4)]
