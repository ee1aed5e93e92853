package control

import (
	"errors"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

// TestSilenceByTheClock lets a watch look at a silent rank at random times, some of them late. The watch
// names the rank after 4 to 5 s of silence by its own clock, or within 4.5 s where no look was late.
func TestSilenceByTheClock(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const silence = 4 * time.Second
	for round := range 500 {
		a, b := net.Pipe()
		k := newConnection(a, nil)
		go func() {
			for {
				if _, err := readFrame(b, maxToNode); err != nil {
					return
				}
			}
		}()
		h := newHub(Config{Size: 2, Silence: silence, Join: time.Hour})
		began := time.Now()
		heard := began
		h.members[1] = member{port: k, heard: heard}
		last, most := began, 5*time.Second
		if round%2 == 0 {
			most = 4500 * time.Millisecond
		}
		for looks := 0; ; looks++ {
			gap := between(silence)
			if round%2 == 1 && looks < 40 {
				gap = time.Duration(r.Int64N(int64(2 * time.Second)))
			}
			now := last.Add(gap)
			if gap > silence/4 {
				heard = now // frames may be unread
			}
			if f := h.inspect(now, last, began); f != nil {
				if quiet := now.Sub(heard); !errors.Is(f, ErrSilent) || f.Rank != 1 || quiet <= silence || quiet > most {
					t.Errorf("round %d: %v after %v", round, f, quiet)
				}
				break
			}
			if last = now; looks > 100 {
				t.Fatalf("round %d: the watch does not name a silent rank", round)
			}
		}
		k.close()
		_ = b.Close()
	}
}

// TestShortSilence checks that a watch names the silent rank, however short the timeout is and whenever
// the watch looks.
func TestShortSilence(t *testing.T) {
	for _, silence := range []time.Duration{1, time.Millisecond, 3 * time.Millisecond, 8 * time.Millisecond, time.Second} {
		a, b := net.Pipe()
		k := newConnection(a, nil)
		h := newHub(Config{Size: 2, Silence: silence, Join: time.Hour})
		began := time.Now()
		h.members[1] = member{port: k, heard: began}
		var f *Failure
		for last := began; f == nil && last.Sub(began) <= 2*silence+2*time.Millisecond; last = last.Add(between(silence)) {
			f = h.inspect(last.Add(between(silence)), last, began)
		}
		if !errors.Is(f, ErrSilent) {
			t.Errorf("a silence of %v: %v", silence, f)
		}
		k.close()
		_ = b.Close()
	}
}
