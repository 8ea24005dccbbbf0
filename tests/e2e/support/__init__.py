"""What the end-to-end tests and the demonstration share: see ../README.md."""
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "tests" / "cluster"))
