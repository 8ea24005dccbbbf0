"""The demonstration behind tools/demo."""
import support  # noqa: F401  (brings tests/cluster into the import path)
