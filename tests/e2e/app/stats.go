package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"time"
)

// readStats asks the cache for its `stats`, which the client library has no call for.
func readStats(server string) (map[string]string, error) {
	network := "tcp"
	if strings.Contains(server, "/") {
		network = "unix"
	}
	connection, err := net.DialTimeout(network, server, 2*time.Second)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprint(connection, "stats\r\n"); err != nil {
		return nil, err
	}
	stats := map[string]string{}
	lines := bufio.NewScanner(connection)
	for lines.Scan() {
		words := strings.SplitN(lines.Text(), " ", 3)
		if words[0] == "END" {
			return stats, nil
		}
		if len(words) != 3 || words[0] != "STAT" {
			return nil, fmt.Errorf("unexpected answer to stats: %q", lines.Text())
		}
		stats[words[1]] = words[2]
	}
	return nil, fmt.Errorf("stats ended without END: %v", lines.Err())
}
