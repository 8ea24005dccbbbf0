// App is the sample application of the end-to-end tests and of the demonstration: it uses a cache beside it through an
// ordinary client library, checks every answer against what it knows, and tells over HTTP how that went.
//
//	GET  /status                            phase, counts of the mixed load, last verification
//	GET  /stats                             the cache's own `stats`
//	POST /fill?prefix=&from=&to=&bytes=     write items whose values are of that mean size
//	POST /verify?prefix=&from=&to=&bytes=   read them and compare: hits, misses, wrong values, errors
//	GET  /healthz                           200 once the first fill is done
//
// With -once it writes and reads a few items over each given address and exits: 0 if all was right.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

const pinnedPrefix = "pinned"

type options struct {
	servers      string
	httpAddress  string
	items        int
	workers      int
	rate         int
	keysEach     int
	readThrough  bool
	valueBytes   int
	once         bool
	startSeconds int
}

func parseOptions() options {
	var o options
	flag.StringVar(&o.servers, "servers", "127.0.0.1:11211", "cache addresses, HOST:PORT or a socket's path, separated by commas; the first is used, -once tries all")
	flag.StringVar(&o.httpAddress, "http", ":8000", "address of the status server")
	flag.IntVar(&o.items, "items", 100000, "pinned items written at start")
	flag.IntVar(&o.workers, "workers", 4, "connections of the mixed load; 0 for none")
	flag.IntVar(&o.rate, "rate", 2000, "requests a second of the mixed load, over all workers")
	flag.IntVar(&o.keysEach, "keys", 2000, "keys of each worker of the mixed load")
	flag.BoolVar(&o.readThrough, "read-through", false, "instead of the mixed load: read keys, some more often than others, and write what was missed")
	flag.IntVar(&o.valueBytes, "value-bytes", defaultBytes, "mean size of a value")
	flag.BoolVar(&o.once, "once", false, "write, read and delete -items items over every address, then exit")
	flag.IntVar(&o.startSeconds, "start-seconds", 30, "how long to wait for the cache at start")
	flag.Parse()
	if o.valueBytes < 10 || o.items < 0 || o.workers < 0 || o.keysEach < 1 {
		log.Fatal("-value-bytes must be at least 10, -keys at least 1, -items and -workers not negative")
	}
	return o
}

func newClient(server string, connections int) *memcache.Client {
	client := memcache.New(server)
	client.Timeout = 2 * time.Second
	client.MaxIdleConns = connections
	return client
}

func waitForCache(client *memcache.Client, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for {
		err := client.Ping()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func main() {
	o := parseOptions()
	servers := strings.Split(o.servers, ",")
	if o.once {
		os.Exit(runOnce(o, servers))
	}
	client := newClient(servers[0], 16)
	if err := waitForCache(client, time.Duration(o.startSeconds)*time.Second); err != nil {
		log.Fatalf("no cache at %s: %v", servers[0], err)
	}
	app := &application{client: client, server: servers[0], load: newLoad(o)}
	app.phase.Store("filling")
	go app.run(o)
	log.Fatal(http.ListenAndServe(o.httpAddress, app.handler()))
}

// application joins the parts behind the HTTP handlers. Handlers run concurrently; the fields are set before they start.
type application struct {
	client *memcache.Client
	server string
	load   *load
	phase  atomic.Value // string: filling, running or failed
	first  atomic.Value // result of the first fill
}

func (a *application) run(o options) {
	filled := fill(a.client, items{pinnedPrefix, 0, o.items, o.valueBytes})
	a.first.Store(filled)
	if filled.Errors > 0 {
		a.phase.Store("failed")
		log.Printf("first fill: %+v", filled)
		return
	}
	a.load.start(a.server)
	a.phase.Store("running")
	log.Printf("wrote %d items in %.1f s; the mixed load runs", filled.Stored, filled.Seconds)
}

func (a *application) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if a.phase.Load() != "running" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintln(w, a.phase.Load())
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"phase": a.phase.Load(), "fill": a.first.Load(), "load": a.load.snapshot()})
	})
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) {
		stats, err := readStats(a.server)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		answer(w, stats)
	})
	mux.HandleFunc("POST /fill", a.ranged(fill))
	mux.HandleFunc("POST /verify", a.ranged(verify))
	return mux
}

// ranged makes a handler of a function over a range of items, given as prefix, from, to (exclusive) and bytes.
func (a *application) ranged(do func(*memcache.Client, items) result) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		from, errFrom := strconv.Atoi(query.Get("from"))
		to, errTo := strconv.Atoi(query.Get("to"))
		mean, errMean := strconv.Atoi(query.Get("bytes"))
		prefix := query.Get("prefix")
		bad := errors.Join(errFrom, errTo, errMean)
		if bad != nil || prefix == "" || from < 0 || to < from || to > 10_000_000 || mean < 10 || mean > 1_000_000 {
			http.Error(w, "prefix, from, to and bytes are needed: 0 <= from <= to <= 10000000, 10 <= bytes <= 1000000",
				http.StatusBadRequest)
			return
		}
		answer(w, do(a.client, items{prefix, from, to, mean}))
	}
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		log.Printf("answer: %v", err)
	}
}

func runOnce(o options, servers []string) int {
	for number, server := range servers {
		client := newClient(server, 16)
		if err := waitForCache(client, time.Duration(o.startSeconds)*time.Second); err != nil {
			log.Printf("no cache at %s: %v", server, err)
			return 1
		}
		prefix := fmt.Sprintf("once%d", number)
		written := fill(client, items{prefix, 0, o.items, o.valueBytes})
		read := verify(client, items{prefix, 0, o.items, o.valueBytes})
		log.Printf("%s: %d stored, %d hits, %d misses, %d wrong, %d errors", server, written.Stored, read.Hits,
			read.Misses, read.Wrong, written.Errors+read.Errors)
		if written.Stored != o.items || read.Hits != o.items {
			return 1
		}
	}
	return 0
}
