// gomemcache over TCP and a Unix socket: every method it offers, large values, many goroutines, a restart.
package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

func restartServer(t *testing.T) {
	t.Helper()
	control, err := net.Dial("tcp", "127.0.0.1:"+os.Getenv("PODCACHE_CONTROL"))
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	said, err := io.ReadAll(control)
	if err != nil || string(said) != "done\n" {
		t.Fatalf("restart: %q, %v", said, err)
	}
}

func onBoth(t *testing.T, test func(t *testing.T, client *memcache.Client)) {
	for name, address := range map[string]string{"tcp": os.Getenv("PODCACHE_TCP"), "unix": os.Getenv("PODCACHE_UNIX")} {
		t.Run(name, func(t *testing.T) {
			client := memcache.New(address)
			client.Timeout = 30 * time.Second
			defer client.Close()
			if err := client.FlushAll(); err != nil {
				t.Fatal(err)
			}
			test(t, client)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wants(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func holds(t *testing.T, client *memcache.Client, key, want string) *memcache.Item {
	t.Helper()
	item, err := client.Get(key)
	must(t, err)
	if string(item.Value) != want {
		t.Fatalf("%s is %q, want %q", key, item.Value, want)
	}
	return item
}

func TestStorage(t *testing.T) {
	onBoth(t, func(t *testing.T, client *memcache.Client) {
		_, err := client.Get("k")
		wants(t, err, memcache.ErrCacheMiss)
		wants(t, client.Replace(&memcache.Item{Key: "k", Value: []byte("0")}), memcache.ErrNotStored)
		wants(t, client.Append(&memcache.Item{Key: "k", Value: []byte("0")}), memcache.ErrNotStored)
		must(t, client.Add(&memcache.Item{Key: "k", Value: []byte("1")}))
		wants(t, client.Add(&memcache.Item{Key: "k", Value: []byte("2")}), memcache.ErrNotStored)
		must(t, client.Set(&memcache.Item{Key: "k", Value: []byte("b\r\n\x00"), Flags: 4294967295}))
		if item := holds(t, client, "k", "b\r\n\x00"); item.Flags != 4294967295 {
			t.Fatalf("flags are %d", item.Flags)
		}
		must(t, client.Replace(&memcache.Item{Key: "k", Value: []byte("b")}))
		must(t, client.Append(&memcache.Item{Key: "k", Value: []byte("c")}))
		must(t, client.Prepend(&memcache.Item{Key: "k", Value: []byte("a")}))
		holds(t, client, "k", "abc")
		must(t, client.Set(&memcache.Item{Key: "k", Value: nil}))
		holds(t, client, "k", "")
		must(t, client.Delete("k"))
		wants(t, client.Delete("k"), memcache.ErrCacheMiss)
		must(t, client.Set(&memcache.Item{Key: "k", Value: []byte("v")}))
		must(t, client.DeleteAll())
		_, err = client.Get("k")
		wants(t, err, memcache.ErrCacheMiss)
		must(t, client.Ping())
	})
}

func TestCompareAndSwap(t *testing.T) {
	onBoth(t, func(t *testing.T, client *memcache.Client) {
		must(t, client.Set(&memcache.Item{Key: "k", Value: []byte("1")}))
		first := holds(t, client, "k", "1")
		second := holds(t, client, "k", "1")
		first.Value = []byte("2")
		must(t, client.CompareAndSwap(first))
		second.Value = []byte("3")
		wants(t, client.CompareAndSwap(second), memcache.ErrCASConflict)
		holds(t, client, "k", "2")
		must(t, client.Delete("k"))
		wants(t, client.CompareAndSwap(first), memcache.ErrCacheMiss)
	})
}

func TestNumbers(t *testing.T) {
	onBoth(t, func(t *testing.T, client *memcache.Client) {
		_, err := client.Increment("n", 1)
		wants(t, err, memcache.ErrCacheMiss)
		must(t, client.Set(&memcache.Item{Key: "n", Value: []byte("10")}))
		for _, step := range []struct {
			change func(string, uint64) (uint64, error)
			delta  uint64
			want   uint64
		}{{client.Increment, 5, 15}, {client.Decrement, 6, 9}, {client.Decrement, 10, 0}, {client.Increment, 1<<64 - 1, 1<<64 - 1}, {client.Increment, 2, 1}} {
			got, err := step.change("n", step.delta)
			must(t, err)
			if got != step.want {
				t.Fatalf("got %d, want %d", got, step.want)
			}
		}
		must(t, client.Set(&memcache.Item{Key: "n", Value: []byte("text")}))
		if _, err := client.Increment("n", 1); err == nil || !strings.Contains(err.Error(), "client error") {
			t.Fatalf("incr on text: %v", err)
		}
	})
}

func TestTouch(t *testing.T) {
	onBoth(t, func(t *testing.T, client *memcache.Client) {
		wants(t, client.Touch("k", 10), memcache.ErrCacheMiss)
		_, err := client.GetAndTouch("k", 10)
		wants(t, err, memcache.ErrCacheMiss)
		must(t, client.Set(&memcache.Item{Key: "k", Value: []byte("v"), Expiration: 100}))
		must(t, client.Touch("k", 10))
		item, err := client.GetAndTouch("k", -1)
		must(t, err)
		if string(item.Value) != "v" {
			t.Fatalf("got %q", item.Value)
		}
		_, err = client.Get("k")
		wants(t, err, memcache.ErrCacheMiss)
	})
}

func TestMultiAndLarge(t *testing.T) {
	onBoth(t, func(t *testing.T, client *memcache.Client) {
		keys := []string{"missing"}
		for number := 0; number < 1000; number++ {
			keys = append(keys, fmt.Sprintf("a-key-long-enough-to-pass-the-limit-of-a-line-%d", number))
			must(t, client.Set(&memcache.Item{Key: keys[number+1], Value: []byte(keys[number+1])}))
		}
		found, err := client.GetMulti(keys)
		must(t, err)
		if len(found) != 1000 || string(found[keys[7]].Value) != keys[7] {
			t.Fatalf("found %d", len(found))
		}
		large := bytes.Repeat([]byte("0123456789abcdef"), 64000)
		must(t, client.Set(&memcache.Item{Key: "large", Value: large}))
		holds(t, client, "large", string(large))
		if err := client.Set(&memcache.Item{Key: "large", Value: append(large, large...)}); err == nil {
			t.Fatal("2 MB were stored")
		}
		_, err = client.Get("large")
		wants(t, err, memcache.ErrCacheMiss)
	})
}

// Exactly as many increments as were asked for, whatever the number of connections.
func TestManyAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, client *memcache.Client) {
		client.MaxIdleConns = 16
		must(t, client.Set(&memcache.Item{Key: "n", Value: []byte("0")}))
		var group sync.WaitGroup
		failures := make(chan error, 16)
		for worker := 0; worker < 16; worker++ {
			group.Add(1)
			go func() {
				defer group.Done()
				for count := 0; count < 500; count++ {
					if _, err := client.Increment("n", 1); err != nil {
						failures <- err
						return
					}
				}
			}()
		}
		group.Wait()
		close(failures)
		for err := range failures {
			t.Fatal(err)
		}
		holds(t, client, "n", "8000")
	})
}

func TestRestart(t *testing.T) {
	onBoth(t, func(t *testing.T, client *memcache.Client) {
		must(t, client.Set(&memcache.Item{Key: "k", Value: []byte("v")}))
		restartServer(t)
		client.Get("k") // The idle connection is found to be dead.
		_, err := client.Get("k")
		wants(t, err, memcache.ErrCacheMiss)
		must(t, client.Set(&memcache.Item{Key: "k", Value: []byte("v2")}))
		holds(t, client, "k", "v2")
	})
}
