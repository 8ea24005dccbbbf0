"""Instructions per operation, counted by callgrind on recorded streams: deterministic, so a change of a few percent is a change.

The numbers to expect are in tests/benchmark/instructions.json. More than 3 % above one of them is a failure; who means it, or has
made something cheaper, records them anew (--record) with the change.
"""
import json
import os
import platform
import re
import subprocess
import tempfile

from .places import BIN, TOP

EXPECTED = os.path.join(TOP, "tests/benchmark/instructions.json")
PROGRAM = os.path.join(BIN, "podcache-instructions")
TOLERANCE = 0.03
STREAMS = ("get8", "memtier-1-10:50", "mget50", "set50")
PARTS = ("engine", "session")
# The C library chooses its copies by what the processor can: the same ones on every machine.
TUNABLES = "glibc.cpu.hwcaps=-AVX_Fast_Unaligned_Load,-AVX2,-AVX512F,-AVX512VL,-ERMS,-FSRM"


def count(stream, part, keep=None):
    """Instructions per operation, and the checksum of the stream."""
    with tempfile.TemporaryDirectory() as folder:
        out = keep or os.path.join(folder, "callgrind")
        command = ["valgrind", "--tool=callgrind", "--toggle-collect=podcache_measured", f"--callgrind-out-file={out}",
                   PROGRAM, "--workload", stream] + (["--engine"] if part == "engine" else [])
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "GLIBC_TUNABLES": TUNABLES})
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr[-1000:]}")
        with open(out) as file:
            total = int(re.search(r"^(?:summary|totals): (\d+)", file.read(), re.M)[1])
    said = json.loads(done.stdout)
    return total / said["operations"], said["stream"]


def machine():
    compiler = subprocess.run(["c++", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    return {"architecture": platform.machine(), "compiler": compiler}


def measure(arguments, say):
    results = []
    for stream in STREAMS:
        for part in PARTS:
            keep = arguments.profiles and os.path.join(arguments.profiles, f"callgrind.{part}.{stream.replace(':', '-')}")
            instructions, checksum = count(stream, part, keep)
            results.append({"workload": stream, "part": part, "instructions": round(instructions, 1), "stream": checksum})
            say(f"{stream}, {part}: {instructions:.1f} instructions per operation")
    return results


def compare(results, expected):
    """Lines for people, and those that are a failure."""
    known = {(r["workload"], r["part"]): r for r in expected["results"]}
    lines, failures = [("workload", "part", "now", "recorded", "change")], []
    for result in results:
        name = (result["workload"], result["part"])
        old = known.get(name)
        if old is None:
            failures.append(f"{name[0]}, {name[1]}: nothing is recorded")
            continue
        change = result["instructions"] / old["instructions"] - 1
        lines.append((*name, result["instructions"], old["instructions"], f"{change * 100:+.1f} %"))
        if old["stream"] != result["stream"]:
            failures.append(f"{name[0]}, {name[1]}: not the recorded stream; record anew")
        elif change > TOLERANCE:
            failures.append(f"{name[0]}, {name[1]}: {change * 100:+.1f} % instructions")
    return lines, failures


def run(arguments, say, print_table):
    if arguments.profiles:
        os.makedirs(arguments.profiles, exist_ok=True)
    report = machine() | {"results": measure(arguments, say)}
    if arguments.record:
        with open(EXPECTED, "w") as file:
            file.write(json.dumps(report, indent=1) + "\n")
        say(f"recorded in {os.path.relpath(EXPECTED, TOP)}")
        return report
    with open(EXPECTED) as file:
        expected = json.load(file)
    if expected["architecture"] != report["architecture"]:
        say(f"recorded on {expected['architecture']}: nothing to compare with here")
        return report
    if expected["compiler"] != report["compiler"]:
        say(f"recorded with compiler {expected['compiler']}, this is {report['compiler']}: differences may be its own")
    lines, failures = compare(report["results"], expected)
    print_table(lines)
    if failures:
        raise RuntimeError("more instructions than recorded:\n  " + "\n  ".join(failures) +
                           "\nIf that is meant: tools/bench instructions --record, with the reason in the commit")
    return report
