"""How long podcached takes from its start to its first answer. Measured and printed, not judged: machines differ.

Runs the program of this machine's image with the image's own loader and libraries. Needs tools/images to have run.
"""
import json
import os
import socket
import statistics
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
ARCHITECTURES = {"x86_64": ("amd64", "lib64/ld-linux-x86-64.so.2", "lib/x86_64-linux-gnu"),
                 "aarch64": ("arm64", "lib/ld-linux-aarch64.so.1", "lib/aarch64-linux-gnu")}
RUNS = 7


class StartUp(unittest.TestCase):
    def start_once(self, memory_megabytes):
        """Seconds until `version` was answered over the Unix socket."""
        name, loader, libraries = ARCHITECTURES[os.uname().machine]
        root = TOP / "build" / "images" / "podcached" / name
        with tempfile.TemporaryDirectory() as folder:
            address = f"{folder}/cache.sock"
            command = [root / loader, "--library-path", root / libraries, root / "podcached", "-s", address,
                       "-m", str(memory_megabytes), "-u", "root", "--http-listen=127.0.0.1:0", "--admin-listen=off"]
            began = time.monotonic()
            server = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                return self.first_answer(server, address) - began
            finally:
                server.terminate()
                self.assertEqual(server.wait(timeout=10), 0)

    def first_answer(self, server, address):
        while server.poll() is None:
            with socket.socket(socket.AF_UNIX) as connection:
                try:
                    connection.connect(address)
                except OSError:
                    time.sleep(0.001)
                    continue
                connection.sendall(b"version\r\n")
                self.assertTrue(connection.recv(100).startswith(b"VERSION "))
                return time.monotonic()
        self.fail(f"podcached ended with {server.returncode}")

    def test_start_up(self):
        result = {}
        for memory in (64, 1024):
            milliseconds = [1000 * self.start_once(memory) for _ in range(RUNS)]
            result[f"{memory}_megabytes"] = {"median_ms": round(statistics.median(milliseconds), 1),
                                             "slowest_ms": round(max(milliseconds), 1)}
            print(f"podcached -m {memory}: first answer after {statistics.median(milliseconds):.0f} ms (median of {RUNS})")
        (TOP / "build" / "results").mkdir(parents=True, exist_ok=True)
        (TOP / "build" / "results" / "startup.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    unittest.main()
