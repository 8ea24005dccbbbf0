"""Parts of the test cluster: see ../README.md."""
