"""The store alone, without protocol and sockets: google-benchmark's figures, by CPU time."""
import json
import os
import subprocess

from .places import BIN


def run(arguments, say, print_table):
    command = [os.path.join(BIN, "store_benchmark"), "--benchmark_format=json",
               f"--benchmark_min_time={0.3 if arguments.quick else 2}"]
    if arguments.quick:
        command.append("--benchmark_filter=/100000/|Evicting")
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    report = json.loads(done.stdout)
    lines = [("benchmark", "million/s", "ns each")]
    for result in report["benchmarks"]:
        rate = result["items_per_second"]
        lines.append((result["name"], f"{rate / 1e6:.2f}", f"{1e9 / rate:.0f}"))
    print_table(lines)
    return report
