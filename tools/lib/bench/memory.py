"""Memory per item by RSS: servers are filled past eviction, then the client counts what is still there.

Overhead = RSS by items, less key and value. Neither figure is the server's own: RSS is the kernel's, the items are counted by getting
every key that was set. At the end, the RSS of connections that do nothing.
"""
from . import client, machine, servers

SIZES = ("20+30", "20+128", "38+230", "24+600")
LEAST_OVERHEAD = 16  # Bytes an item costs at the very least: as many are stored as would fit then, and some more.
PAST_EVICTION = 1.05
FIRST_CONNECTIONS, IDLE_CONNECTIONS = 50, 800


def one(kind, key_bytes, value_bytes, arguments, cpus, say):
    budget = arguments.memory << 20
    keys = int(budget / (key_bytes + value_bytes + LEAST_OVERHEAD) * PAST_EVICTION)
    with servers.Server(kind, cpus, arguments.threads, arguments.memory, value_bytes, arguments.unix) as server:
        empty = server.resident_bytes()
        shape = {"workload": "set50", "keys": keys, "key_bytes": key_bytes, "value_bytes": value_bytes}
        # memcached may run out of memory for a moment when its eviction falls behind.
        refused = client.run("fill", server, cpus, errors_allowed=True, **shape)["errors"]
        full = server.resident_bytes()
        items = client.run("count", server, cpus, **shape, check=True)["found"]
    result = {"server": kind.name, "key_bytes": key_bytes, "value_bytes": value_bytes, "items": items, "refused": refused,
              "rss_bytes": full, "rss_empty_bytes": empty, "overhead_bytes": full / items - key_bytes - value_bytes}
    say(f"{kind.name}, {key_bytes} + {value_bytes}: {items} items in {full >> 20} MiB, "
        f"{result['overhead_bytes']:.1f} bytes of overhead each")
    return result


def idle_connection_bytes(kind, cpus, arguments):
    """RSS of a connection that was used once and waits."""
    with servers.Server(kind, cpus, arguments.threads, arguments.memory, unix=True) as server:
        def used_ones(n):
            connections = [server.connect() for _ in range(n)]
            for connection in connections:
                connection.sendall(b"get a\r\n")
                if connection.recv(16) != b"END\r\n":
                    raise RuntimeError(f"{kind.name}: not the reply to a miss")
            return connections

        first = used_ones(FIRST_CONNECTIONS)
        before = server.resident_bytes()
        more = used_ones(IDLE_CONNECTIONS)
        grown = server.resident_bytes() - before
        for connection in first + more:
            connection.close()
        return grown / IDLE_CONNECTIONS


def run(arguments, say, print_table):
    cpus = set(range(machine.description()["cores"]))
    kinds = (servers.Podcached(), servers.peer(arguments.peer))
    about = machine.description() | {"ours": kinds[0].version(), "peer": kinds[1].version(), "memory_mb": arguments.memory}
    results, lines = [], [("key + value", "items", "overhead", "RSS", "peer: items", "overhead", "RSS", "items at equal RSS")]
    with machine.congestion_control():
        for size in arguments.size or SIZES:
            key_bytes, value_bytes = (int(n) for n in size.split("+"))
            ours, peer = (one(kind, key_bytes, value_bytes, arguments, cpus, say) for kind in kinds)
            results += [ours, peer]
            ratio = (ours["items"] / ours["rss_bytes"]) / (peer["items"] / peer["rss_bytes"])
            ours["items_ratio"] = ratio
            lines.append((f"{key_bytes} + {value_bytes}", *(cell for r in (ours, peer) for cell in (
                f"{r['items'] / 1e6:.2f} M", f"{r['overhead_bytes']:.1f}", f"{r['rss_bytes'] / 2**20:.0f} MiB")), f"{ratio:.2f}x"))
        idle = [idle_connection_bytes(kind, cpus, arguments) for kind in kinds]
    print(f"\n{about['ours']} against {about['peer']}, -m {arguments.memory}, filled past eviction; overhead in bytes per item\n")
    print_table(lines)
    print(f"\nan idle connection, RSS: {idle[0]:.0f} bytes; peer {idle[1]:.0f}")
    return {"machine": about, "results": results, "idle_connection_bytes": {"ours": idle[0], "peer": idle[1]}}
