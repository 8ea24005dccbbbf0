"""The demonstration behind tools/demo."""
