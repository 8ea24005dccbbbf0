package main

import (
	"bytes"
	"errors"
	"log"
	"math/rand"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// counts of the mixed load since its start. Forgotten: a miss on a key that was written and not deleted, which a cache
// is allowed to answer. Wrong: a value other than the last one written, or of a deleted key, which it is not.
type counts struct {
	Gets      int64  `json:"gets"`
	Sets      int64  `json:"sets"`
	Touches   int64  `json:"touches"`
	Deletes   int64  `json:"deletes"`
	Hits      int64  `json:"hits"`
	Misses    int64  `json:"misses"`
	Forgotten int64  `json:"forgotten"`
	Wrong     int64  `json:"wrong"`
	Errors    int64  `json:"errors"`
	LastError string `json:"lastError,omitempty"`
	SlowestMs int64  `json:"slowestMs"`
}

// load runs the mixed requests: 70 % get, 20 % set, 5 % touch, 5 % delete. Every worker has keys of its own, so it knows
// what each must hold. The mutex guards the counts.
type load struct {
	options options
	mutex   sync.Mutex
	counts  counts
}

func newLoad(o options) *load { return &load{options: o} }

func (l *load) snapshot() counts {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.counts
}

func (l *load) start(server string) {
	for number := 0; number < l.options.workers; number++ {
		worker := &worker{
			load:     l,
			client:   newClient(server, 1),
			prefix:   "load" + string(rune('a'+number%26)),
			versions: make([]uint32, l.options.keysEach),
			random:   rand.New(rand.NewSource(int64(number))),
		}
		worker.request = worker.mixed
		if l.options.readThrough {
			worker.request = worker.readThrough
		}
		go worker.run(time.Duration(l.options.workers) * time.Second / time.Duration(max(l.options.rate, 1)))
	}
}

// worker is one connection. versions[i] is 0 while key i should be absent.
type worker struct {
	load     *load
	client   *memcache.Client
	prefix   string
	versions []uint32
	next     uint32
	random   *rand.Rand
	request  func(*counts) error
}

// run keeps to its rate over time: after a slow answer it catches up.
func (w *worker) run(interval time.Duration) {
	for due := time.Now(); ; due = due.Add(interval) {
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		started := time.Now()
		var once counts
		if err := w.request(&once); err != nil {
			once.Errors++
			once.LastError = err.Error()
			log.Printf("client error: %v", err)
		}
		w.account(once, time.Since(started))
	}
}

func (w *worker) account(once counts, took time.Duration) {
	w.load.mutex.Lock()
	defer w.load.mutex.Unlock()
	c := &w.load.counts
	c.Gets += once.Gets
	c.Sets += once.Sets
	c.Touches += once.Touches
	c.Deletes += once.Deletes
	c.Hits += once.Hits
	c.Misses += once.Misses
	c.Forgotten += once.Forgotten
	c.Wrong += once.Wrong
	c.Errors += once.Errors
	if once.LastError != "" {
		c.LastError = once.LastError
	}
	c.SlowestMs = max(c.SlowestMs, took.Milliseconds())
}

func (w *worker) mixed(once *counts) error {
	number := w.random.Intn(len(w.versions))
	name := key(w.prefix, number)
	switch dice := w.random.Intn(100); {
	case dice < 70:
		return w.get(name, number, once)
	case dice < 90:
		w.next++
		once.Sets++
		// Until the answer is there, neither the old nor the new value would be wrong.
		if err := w.client.Set(&memcache.Item{Key: name, Value: value(name, w.next, w.load.options.valueBytes)}); err != nil {
			return err
		}
		w.versions[number] = w.next
		return nil
	case dice < 95:
		once.Touches++
		return ignoreMiss(w.client.Touch(name, 3600))
	default:
		once.Deletes++
		err := ignoreMiss(w.client.Delete(name))
		if err == nil {
			w.versions[number] = 0
		}
		return err
	}
}

func (w *worker) get(name string, number int, once *counts) error {
	once.Gets++
	item, err := w.client.Get(name)
	if errors.Is(err, memcache.ErrCacheMiss) {
		once.Misses++
		if w.versions[number] != 0 {
			once.Forgotten++
			w.versions[number] = 0
		}
		return nil
	}
	if err != nil {
		return err
	}
	once.Hits++
	if w.versions[number] == 0 || !bytes.Equal(item.Value, value(name, w.versions[number], w.load.options.valueBytes)) {
		once.Wrong++
	}
	return nil
}

// readThrough is what most applications do: read, and on a miss fetch the thing elsewhere and write it. All workers share
// one set of keys; half of the reads go to a tenth of them.
func (w *worker) readThrough(once *counts) error {
	number := w.random.Intn(len(w.versions))
	if w.random.Intn(2) == 0 {
		number /= 10
	}
	name := key("page", number)
	once.Gets++
	item, err := w.client.Get(name)
	switch {
	case err == nil:
		once.Hits++
		if !bytes.Equal(item.Value, value(name, 0, w.load.options.valueBytes)) {
			once.Wrong++
		}
		return nil
	case errors.Is(err, memcache.ErrCacheMiss):
		once.Misses++
		once.Sets++
		return w.client.Set(&memcache.Item{Key: name, Value: value(name, 0, w.load.options.valueBytes)})
	default:
		return err
	}
}

func ignoreMiss(err error) error {
	if errors.Is(err, memcache.ErrCacheMiss) {
		return nil
	}
	return err
}
