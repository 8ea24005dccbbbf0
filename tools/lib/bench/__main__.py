"""python3 -m bench …: called by tools/bench, which has built everything."""
import argparse
import json
import signal
import sys
import time

from . import compare, engine, hit_ratio, instructions, latency, memory, profile, report, resize, restart, simulate, smoke, threads


def say(text):
    print(f"   {time.strftime('%H:%M:%S')} {text}", flush=True)


def add_servers(parser, memory_mb=1024):
    parser.add_argument("--peer", default="memcached", help="memcached (1.6.45), memcached-tuned (-R 1000), or the path "
                        "of another podcached (default: memcached)")
    parser.add_argument("--threads", type=int, default=1, help="threads of each server (default: 1)")
    parser.add_argument("--memory", type=int, default=memory_mb, help=f"-m of each server (default: {memory_mb})")
    parser.add_argument("--server-cpus", help="cores of the servers (default: the first ones)")
    parser.add_argument("--client-cpus", help="cores of the load (default: the last one)")
    parser.add_argument("--unix", action="store_true", help="Unix sockets instead of TCP")
    parser.add_argument("--json", metavar="FILE", help="write the figures to this file")


def at_least(least):
    def number(text):
        if (value := int(text)) < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value
    return number


def add_rounds(parser):
    parser.add_argument("--rounds", type=at_least(1), default=1, help="how often all of it is done; of each phase the round is shown with the least "
                        "of the time stolen by the hypervisor (default: 1)")


def add_load(parser):
    parser.add_argument("--workload", action="append", help="one of those of podcache-bench, repeatable (default: all)")
    parser.add_argument("--keys", type=int, default=100_000, help="different keys (default: 100000)")
    parser.add_argument("--key-bytes", type=int, default=16, help="(default: 16)")
    parser.add_argument("--value-bytes", type=int, help="(default: the workload's)")
    parser.add_argument("--connections", type=int, help="(default: the workload's)")
    parser.add_argument("--seconds", type=float, help="of each run")
    parser.add_argument("--quick", action="store_true", help="short runs: a first impression")


def do_compare(arguments):
    result = compare.run(arguments, say)
    report.print_comparison(result)
    if arguments.plot:
        report.plot(result, arguments.plot)
    return result


def parser():
    main = argparse.ArgumentParser(prog="tools/bench", description="Measures podcached, and others beside it.")
    commands = main.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("compare", help="server CPU per operation, against a peer and the ceilings")
    add_servers(command)
    add_load(command)
    command.add_argument("--pairs", type=int, help="runs of each server (default: 7)")
    command.add_argument("--plot", metavar="FILE.png", help="draw it")
    command.set_defaults(do=do_compare)
    command = commands.add_parser("latency", help="percentiles at 50 and 80 %% of the peer's peak, in an open loop")
    add_servers(command)
    add_load(command)
    command.add_argument("--pairs", type=int, help="runs of each server (default: 7)")
    command.add_argument("--histograms", metavar="FOLDER", help="write all percentiles, in HdrHistogram's text form")
    command.set_defaults(do=lambda arguments: latency.run(arguments, say, report.print_table))
    command = commands.add_parser("memory", help="bytes per item by RSS, filled past eviction")
    add_servers(command)
    command.add_argument("--size", action="append", metavar="KEY+VALUE",
                         help="bytes of keys and values, repeatable (default: 20+30, 20+128, 38+230, 24+600)")
    command.set_defaults(do=lambda arguments: memory.run(arguments, say, report.print_table))
    command = commands.add_parser("hit-ratio", help="misses of replayed traces at equal RSS")
    add_servers(command, 64)
    command.add_argument("--generate", action="append", metavar="NAME", help="one of podcache-bench's generated traces, "
                         "repeatable (default: those of the suite)")
    command.add_argument("--keys", type=int, default=1_500_000, help="of generated traces (default: 1500000)")
    command.add_argument("--requests", type=int, help="replayed of each trace (default: 4000000 generated, all of a file)")
    command.add_argument("--trace", action="append", metavar="FILE", help="replay this file instead, repeatable")
    command.add_argument("--format", help="of the files: podcache-bench replay --help lists them")
    command.add_argument("--skip", type=int, default=0, help="requests of a file that only warm up (default: 0)")
    command.set_defaults(do=lambda arguments: hit_ratio.run(arguments, say, report.print_table))
    command = commands.add_parser("simulate", help="misses of traces in models of caches: to choose a policy")
    command.add_argument("--model", action="append", metavar="NAME[:SETTING=VALUE…]", help="one of podcache-simulate's with its "
                         "settings, repeatable (default: five of them)")
    command.add_argument("--generate", action="append", metavar="NAME", help="a generated trace, repeatable (default: all)")
    command.add_argument("--keys", type=int, default=1_000_000, help="of generated traces (default: 1000000)")
    command.add_argument("--requests", type=int, default=4_000_000, help="of generated traces; half of them warm up (default: 4000000)")
    command.add_argument("--trace", action="append", metavar="FILE", help="this file instead, repeatable")
    command.add_argument("--format", help="of the files: podcache-bench replay --help lists them")
    command.add_argument("--memory", type=int, default=32, metavar="MB", help="of records and index (default: 32)")
    command.add_argument("--jobs", type=int, default=1, help="runs at the same time (default: 1)")
    command.add_argument("--json", metavar="FILE", help="write the figures to this file")
    command.set_defaults(do=lambda arguments: simulate.run(arguments, say, report.print_table))
    command = commands.add_parser("profile", help="where a server's time goes, by perf")
    add_servers(command)
    add_load(command)
    command.add_argument("--server", default="podcached", help="or podcached-no-engine, stub, or what --peer takes")
    command.set_defaults(do=lambda arguments: profile.run(arguments, say, report.print_table), pairs=None)
    command = commands.add_parser("resize", help="a live resize down and up under load: how long, and what clients feel")
    command.add_argument("--memory", type=int, default=4096, metavar="MB", help="the larger limit (default: 4096)")
    command.add_argument("--to", type=int, default=1024, metavar="MB", help="the smaller one (default: 1024)")
    command.add_argument("--threads", type=int, default=1, help="of the server (default: 1)")
    command.add_argument("--workload", default="memtier-1-10:1", help="(default: memtier-1-10:1)")
    command.add_argument("--rate", type=float, default=10_000, help="requests a second (default: 10000)")
    command.add_argument("--seconds", type=float, default=4, help="of each phase (default: 4)")
    add_rounds(command)
    command.add_argument("--json", metavar="FILE", help="write the figures to this file")
    command.set_defaults(do=lambda arguments: resize.run(arguments, say, report.print_table))
    command = commands.add_parser("threads", help="1 ↔ N threads under load: how long, what clients feel, and that no connection is lost")
    command.add_argument("--threads", type=at_least(2), default=4, metavar="N", help="the larger number, of 2 to 256 (default: 4)")
    command.add_argument("--memory", type=int, default=256, metavar="MB", help="-m of the server (default: 256)")
    command.add_argument("--keys", type=int, default=100_000, help="different keys (default: 100000)")
    command.add_argument("--connections", type=int, default=50, help="of the load (default: 50)")
    command.add_argument("--workload", default="memtier-1-10:1", help="(default: memtier-1-10:1)")
    command.add_argument("--rate", type=float, default=10_000, help="requests a second (default: 10000)")
    command.add_argument("--seconds", type=float, default=4, help="of each phase (default: 4)")
    add_rounds(command)
    command.add_argument("--json", metavar="FILE", help="write the figures to this file")
    command.set_defaults(do=lambda arguments: threads.run(arguments, say, report.print_table))
    command = commands.add_parser("restart", help="a warm restart with -e: how long until the first answer, and that every item is back")
    command.add_argument("--items", type=at_least(1), default=10_000_000, help="of 20 + 128 bytes (default: 10000000)")
    command.add_argument("--threads", type=int, default=1, help="of the server (default: 1)")
    command.add_argument("--folder", default="/dev/shm", help="a tmpfs (default: /dev/shm)")
    command.add_argument("--rounds", type=at_least(1), default=3, help="restarts (default: 3)")
    command.add_argument("--json", metavar="FILE", help="write the figures to this file")
    command.set_defaults(do=lambda arguments: restart.run(arguments, say, report.print_table))
    command = commands.add_parser("engine", help="the store alone: operations by CPU second, 100 thousand and 10 million keys")
    command.add_argument("--quick", action="store_true", help="100 thousand keys only")
    command.add_argument("--json", metavar="FILE", help="write the figures to this file")
    command.set_defaults(do=lambda arguments: engine.run(arguments, say, report.print_table))
    command = commands.add_parser("instructions", help="instructions per operation by callgrind, against those recorded")
    command.add_argument("--record", action="store_true", help="these are the numbers from now on")
    command.add_argument("--profiles", metavar="FOLDER", help="keep callgrind's files, for callgrind_annotate")
    command.add_argument("--json", metavar="FILE", help="write the figures to this file")
    command.set_defaults(do=lambda arguments: instructions.run(arguments, say, report.print_table))
    command = commands.add_parser("smoke", help="a short run of each workload that checks every reply, not speed")
    command.set_defaults(do=lambda _: smoke.run(say))
    return main


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    arguments = parser().parse_args()
    signal.signal(signal.SIGTERM, interrupt)  # Servers are stopped and the kernel's setting put back then, too.
    result = arguments.do(arguments)
    if getattr(arguments, "json", None):
        with open(arguments.json, "w") as file:
            json.dump(result, file, indent=1, ensure_ascii=False)
            file.write("\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, OSError) as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
