"""python3 -m bench …: called by tools/bench, which has built everything."""
import argparse
import json
import sys
import time

from . import compare, instructions, report, smoke


def say(text):
    print(f"   {time.strftime('%H:%M:%S')} {text}", flush=True)


def add_servers(parser):
    parser.add_argument("--peer", default="memcached", help="memcached (1.6.45), memcached-tuned (-R 1000), or the path "
                        "of another podcached (default: memcached)")
    parser.add_argument("--threads", type=int, default=1, help="threads of each server (default: 1)")
    parser.add_argument("--memory", type=int, default=1024, help="-m of each server (default: 1024)")
    parser.add_argument("--server-cpus", help="cores of the servers (default: the first ones)")
    parser.add_argument("--client-cpus", help="cores of the load (default: the last one)")
    parser.add_argument("--unix", action="store_true", help="Unix sockets instead of TCP")
    parser.add_argument("--json", metavar="FILE", help="write the figures to this file")
    parser.add_argument("--quick", action="store_true", help="short runs: a first impression")


def add_load(parser):
    parser.add_argument("--workload", action="append", help="one of those of podcache-bench, repeatable (default: all)")
    parser.add_argument("--keys", type=int, default=100_000, help="different keys (default: 100000)")
    parser.add_argument("--key-bytes", type=int, default=16, help="(default: 16)")
    parser.add_argument("--value-bytes", type=int, help="(default: the workload's)")
    parser.add_argument("--connections", type=int, help="(default: the workload's)")
    parser.add_argument("--seconds", type=float, help="of each run")


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
    command = commands.add_parser("instructions", help="instructions per operation by callgrind, against those recorded")
    command.add_argument("--record", action="store_true", help="these are the numbers from now on")
    command.add_argument("--profiles", metavar="FOLDER", help="keep callgrind's files, for callgrind_annotate")
    command.add_argument("--json", metavar="FILE", help="write the figures to this file")
    command.set_defaults(do=lambda arguments: instructions.run(arguments, say, report.print_table))
    command = commands.add_parser("smoke", help="a short run of each workload that checks every reply, not speed")
    command.set_defaults(do=lambda _: smoke.run(say))
    return main


def main():
    arguments = parser().parse_args()
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
