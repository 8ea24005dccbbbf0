"""Hit ratio at equal RSS: traces replayed look-aside over the wire, misses counted by the client.

The peer runs with -m and its RSS is measured at the end of each trace; then ours gets that RSS as its budget and the same trace. If
the RSS of ours has become larger nevertheless, it runs again with as much less.
"""
from . import client, machine, servers

TRACES = ("zipf-0.7", "zipf-0.9", "zipf-1.0", "zipf-1.1", "small", "churn", "scan", "loop", "writes", "drift", "ttl")
RSS_TOLERANCE = 0.01
MAX_TRIES = 4
# Small items are many: of fewer keys nearly all would fit.
# With fewer requests most misses would be of keys that nobody has asked for before.
SMALL_KEYS, SMALL_REQUESTS = 8, 16
# Of a generated trace. What expires does so in real time: the trace is replayed in about a minute.
REQUESTS_PER_SECOND, TTL_SECONDS = 1000, 75


def replay(kind, memory_mb, cpus, arguments, options):
    with servers.Server(kind, cpus, arguments.threads, memory_mb, unix=True) as server:
        report = client.run("replay", server, cpus, **options)
        return report | {"rss_bytes": server.resident_bytes(), "memory_mb": memory_mb}


def replay_within(kind, rss_bytes, cpus, arguments, options):
    """With the largest whole number of megabytes found whose RSS is at most 1 % above."""
    memory_mb = rss_bytes >> 20
    for _ in range(MAX_TRIES):
        report = replay(kind, memory_mb, cpus, arguments, options)
        excess = report["rss_bytes"] - rss_bytes
        if excess <= rss_bytes * RSS_TOLERANCE:
            return report
        memory_mb -= -(-excess >> 20)
    raise RuntimeError(f"{kind.name} does not keep within {rss_bytes >> 20} MiB")


def traces(arguments):
    """Name → options of podcache-bench replay."""
    if arguments.trace:
        return {path: {"trace": path, "format": arguments.format, "skip": arguments.skip, "limit": arguments.requests}
                for path in arguments.trace}
    return {name: generated(name, arguments.keys, arguments.requests or 4_000_000) for name in arguments.generate or TRACES}


def generated(name, keys, requests):
    if name == "small":
        keys, requests = keys * SMALL_KEYS, requests * SMALL_REQUESTS
    options = {"generate": name, "requests": requests, "keys": keys, "skip": requests // 4}
    if name == "ttl":
        options["time_scale"] = requests / REQUESTS_PER_SECOND / TTL_SECONDS
    return options


def run(arguments, say, print_table):
    cpus = set(range(machine.description()["cores"]))
    peer, ours = servers.peer(arguments.peer), servers.Podcached()
    about = machine.description() | {"ours": ours.version(), "peer": peer.version(), "peer_memory_mb": arguments.memory}
    results, lines = [], [("trace", "misses", "peer", "change", "bytes missed", "peer", "RSS", "peer", "-m")]
    for name, options in traces(arguments).items():
        theirs = replay(peer, arguments.memory, cpus, arguments, options)
        own = replay_within(ours, theirs["rss_bytes"], cpus, arguments, options)
        change = own["misses"] / max(theirs["misses"], 1) - 1
        results.append({"trace": name, "change": change, "ours": own, "peer": theirs})
        lines.append((name, f"{own['miss_ratio']:.4f}", f"{theirs['miss_ratio']:.4f}", f"{change * 100:+.1f} %",
                      f"{own['byte_miss_ratio']:.4f}", f"{theirs['byte_miss_ratio']:.4f}",
                      *(f"{r['rss_bytes'] / 2**20:.0f} MiB" for r in (own, theirs)), own["memory_mb"]))
        say(f"{name}: misses {change * 100:+.1f} % against the peer")
    worst = max(results, key=lambda r: r["change"])
    mean = sum(r["change"] for r in results) / len(results)
    print(f"\n{about['ours']} against {about['peer']} -m {arguments.memory}, ours with the peer's RSS as its budget; look-aside\n")
    print_table(lines)
    print(f"\nmean {mean * 100:+.1f} % misses; worst: {worst['trace']}, {worst['change'] * 100:+.1f} %")
    return {"machine": about, "mean_change": mean, "worst": worst["trace"], "results": results}
