"""Where things are."""
import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
PRESET = os.environ.get("PODCACHE_BENCH_PRESET", "release")
BIN = os.path.join(TOP, "build", PRESET, "bin")
