package main

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

const (
	parallel = 8 // connections of one fill or verification
	batch    = 50
)

// defaultBytes is the mean size of a value where none is asked for.
const defaultBytes = 250

// result is what a fill or a verification met.
type result struct {
	Stored    int     `json:"stored"`
	Hits      int     `json:"hits"`
	Misses    int     `json:"misses"`
	Wrong     int     `json:"wrong"`
	Errors    int     `json:"errors"`
	LastError string  `json:"lastError,omitempty"`
	Seconds   float64 `json:"seconds"`
}

func (r *result) add(other result) {
	r.Stored += other.Stored
	r.Hits += other.Hits
	r.Misses += other.Misses
	r.Wrong += other.Wrong
	r.Errors += other.Errors
	if other.LastError != "" {
		r.LastError = other.LastError
	}
}

func (r *result) fail(err error) {
	r.Errors++
	r.LastError = err.Error()
}

func key(prefix string, number int) string { return fmt.Sprintf("%s:%08d", prefix, number) }

// items is a range of items: numbers from..to-1 of a prefix, with values of a mean size.
type items struct {
	prefix   string
	from, to int
	mean     int // bytes
}

// value follows from key, version and mean size, so that whoever reads an item knows what it must be. Sizes spread
// evenly from 2/5 to 8/5 of the mean.
func value(key string, version uint32, mean int) []byte {
	state := uint64(14695981039346656037) // FNV-1a, then xorshift
	for i := 0; i < len(key); i++ {
		state = (state ^ uint64(key[i])) * 1099511628211
	}
	state = (state ^ uint64(version)) * 1099511628211
	size := mean*2/5 + int(state%uint64(mean*6/5))
	out := make([]byte, size)
	for i := range out {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		out[i] = byte('a' + state%26)
	}
	return out
}

// fill writes version 0 of the items.
func fill(client *memcache.Client, all items) result {
	return inParallel(all.from, all.to, func(first, last int) (part result) {
		for number := first; number < last; number++ {
			name := key(all.prefix, number)
			if err := client.Set(&memcache.Item{Key: name, Value: value(name, 0, all.mean)}); err != nil {
				part.fail(err)
				continue
			}
			part.Stored++
		}
		return part
	})
}

// verify reads the items in multi-key requests and compares each with version 0.
func verify(client *memcache.Client, all items) result {
	return inParallel(all.from, all.to, func(first, last int) (part result) {
		for number := first; number < last; number += batch {
			names := make([]string, 0, batch)
			for each := number; each < min(number+batch, last); each++ {
				names = append(names, key(all.prefix, each))
			}
			found, err := client.GetMulti(names)
			if err != nil {
				part.fail(err)
				continue
			}
			for _, name := range names {
				switch item := found[name]; {
				case item == nil:
					part.Misses++
				case bytes.Equal(item.Value, value(name, 0, all.mean)):
					part.Hits++
				default:
					part.Wrong++
				}
			}
		}
		return part
	})
}

// inParallel cuts a range into equal parts, works on them at once and adds up.
func inParallel(from, to int, do func(first, last int) result) result {
	started := time.Now()
	parts := make([]result, parallel)
	var group sync.WaitGroup
	for part := range parts {
		first := from + (to-from)*part/parallel
		last := from + (to-from)*(part+1)/parallel
		group.Add(1)
		go func() {
			defer group.Done()
			parts[part] = do(first, last)
		}()
	}
	group.Wait()
	var total result
	for _, part := range parts {
		total.add(part)
	}
	total.Seconds = time.Since(started).Seconds()
	return total
}
