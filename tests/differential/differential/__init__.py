"""Random conversations held with memcached 1.6.45 and with podcached, compared reply by reply; see ../README.md."""
