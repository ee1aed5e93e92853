package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	loadTime    = flag.Duration("load", 2*time.Second, "how long TestLoad sends requests to each server")
	loadClients = flag.Int("clients", 200, "how many clients TestLoad has")
)

// result is the responses that clients received.
type result struct {
	answers map[int]int     // by status
	refused int             // connections that were not made
	broken  []error         // requests that were sent, and got no answer
	took    []time.Duration // times of the requests with status 200
	wall    time.Duration
}

// hammer has clients send one request after another until ctx ends, or until they cannot
// connect any more.
func hammer(ctx context.Context, url, model string, clients int, seed uint64) *result {
	r := &result{answers: map[int]int{}}
	transport := &http.Transport{MaxIdleConnsPerHost: clients, MaxIdleConns: clients}
	defer transport.CloseIdleConnections()
	web := &http.Client{Transport: transport}
	var mu sync.Mutex
	var wg sync.WaitGroup
	began := time.Now()
	for i := range clients {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for ctx.Err() == nil {
				begin := time.Now()
				status, err := send(web, url, model, sentence(random))
				mu.Lock()
				dial, ok := errors.AsType[*net.OpError](err)
				switch {
				case ok && dial.Op == "dial":
					r.refused++
				case err != nil:
					r.broken = append(r.broken, err)
				default:
					r.answers[status]++
				}
				if status == http.StatusOK {
					r.took = append(r.took, time.Since(begin))
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	r.wall = time.Since(began)
	slices.Sort(r.took)
	return r
}

// send sends a request without a context, because a request that has begun must be
// answered.
func send(web *http.Client, url, model, text string) (int, error) {
	a, err := web.Post(url+"/v1/embeddings", "application/json", strings.NewReader(fmt.Sprintf(`{"model": %q, "input": %q}`, model, text)))
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	_, err = io.Copy(io.Discard, a.Body)
	return a.StatusCode, err
}

// sentence has 5 to 20 words.
func sentence(random *rand.Rand) string {
	words := strings.Fields("a man is eating food while the girl plays violin and two dogs run through wet green fields near old houses")
	var s []string
	for range 5 + random.IntN(16) {
		s = append(s, words[random.IntN(len(words))])
	}
	return strings.Join(s, " ")
}

func (r *result) quantile(q float64) time.Duration {
	if len(r.took) == 0 {
		return 0
	}
	return r.took[min(len(r.took)-1, int(q*float64(len(r.took))))]
}

// TestLoad has many clients ask at once, a server that forms batches and one that computes
// each text by itself. With GPK_MINILM the model is a real one.
func TestLoad(t *testing.T) {
	var m embedder = &fake{delay: 4 * time.Millisecond}
	name := "fake"
	if dir := os.Getenv("GPK_MINILM"); dir != "" {
		real, _, err := load(config{model: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer real.Close()
		m, name = real, "minilm-l6"
	}
	for _, items := range []int{64, 1} {
		c := fakeConfig
		c.name, c.maxItems, c.queue, c.linger = name, items, 1024, 2*time.Millisecond
		s := newServer(m, c)
		web := httptest.NewServer(s.handler())
		ctx, cancel := context.WithTimeout(t.Context(), *loadTime)
		r := hammer(ctx, web.URL, name, *loadClients, 1)
		cancel()
		web.Close()
		n := len(r.took)
		fmt.Printf("BenchmarkServer/model=%s/clients=%d/max-items=%d\t%d\t%.1f ns/op\t%.1f requests/s\t%.1f p50-ms\t%.1f p99-ms\t%.1f items/batch\t%d errors\n",
			name, *loadClients, items, n, float64(r.wall.Nanoseconds())/float64(max(n, 1)), float64(n)/r.wall.Seconds(),
			1e3*r.quantile(0.5).Seconds(), 1e3*r.quantile(0.99).Seconds(),
			s.texts.Stats().Sizes.Sum/float64(max(s.texts.Stats().Sizes.Count(), 1)), len(r.broken)+r.refused)
		if n == 0 || len(r.answers) != 1 || len(r.broken)+r.refused > 0 {
			t.Errorf("max-items=%d: statuses %v, %d connections were not made, errors %v", items, r.answers, r.refused, r.broken)
		}
		if done := int(s.texts.Stats().Done); done != n {
			t.Errorf("max-items=%d: %d texts were computed, %d answers came", items, done, n)
		}
	}
}

// TestNoLeak checks that a server that has stopped leaves no goroutine behind.
func TestNoLeak(t *testing.T) {
	before := runtime.NumGoroutine()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- newServer(&fake{}, fakeConfig).serve(ctx, l) }()
	var r *result
	for end := time.Now().Add(time.Minute); r == nil || r.answers[http.StatusOK] == 0 && time.Now().Before(end); {
		load, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		r = hammer(load, "http://"+l.Addr().String(), "fake", 20, 2)
		stop()
	}
	if r.answers[http.StatusOK] == 0 || len(r.broken) > 0 {
		t.Error(r)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	waitFor(t, func() bool { return runtime.NumGoroutine() <= before })
}
