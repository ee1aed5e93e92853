package profile

import (
	"testing"
	"time"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestSamples: however many samples there are, the kept ones are bounded, in order, as far
// apart as the next power of two asks, and have the peak of every stretch.
func TestSamples(t *testing.T) {
	rng := testrand.New(t)
	for _, n := range []int{1, 10, maxSamples, maxSamples + 1, 50_000} {
		u := &memoryUse{every: firstSample}
		var all []MemoryUse
		at := time.Duration(0)
		for range n {
			at += time.Duration(rng.IntN(int(40 * time.Microsecond)))
			m := MemoryUse{Device: "cpu", At: at, InUse: rng.Int64N(1 << 40)}
			all = append(all, m)
			u.add(m)
		}
		if len(u.samples) > maxSamples || u.last != all[n-1] {
			t.Fatalf("%d samples of %d", len(u.samples), n)
		}
		peak := map[time.Duration]MemoryUse{}
		for _, m := range all {
			if p, ok := peak[m.At/u.every]; !ok || m.InUse > p.InUse {
				peak[m.At/u.every] = m
			}
		}
		if len(peak) != len(u.samples) {
			t.Errorf("%d samples of %d, in %d stretches", len(u.samples), n, len(peak))
		}
		var most int64
		for i, m := range u.samples {
			most = max(most, m.InUse)
			if m != peak[m.At/u.every] {
				t.Errorf("%+v, want %+v", m, peak[m.At/u.every])
			}
			if i > 0 && m.At/u.every <= u.samples[i-1].At/u.every {
				t.Errorf("%+v behind %+v", m, u.samples[i-1])
			}
		}
		if most != u.peak {
			t.Errorf("the largest sample is %d, the peak %d", most, u.peak)
		}
		if n == 50_000 && len(u.samples) < maxSamples/4 {
			t.Errorf("only %d samples", len(u.samples))
		}
	}
}

// TestBusyTime: time in which a stream works is counted once.
func TestBusyTime(t *testing.T) {
	for _, c := range []struct {
		list []workTime
		want time.Duration
	}{
		{nil, 0},
		{[]workTime{{5, 9}}, 4},
		{[]workTime{{20, 30}, {5, 9}}, 14},
		{[]workTime{{0, 10}, {2, 3}, {8, 12}, {12, 13}}, 13},
		{[]workTime{{-5, -2}, {-3, 1}}, 6},
	} {
		if got := busyTime(c.list); got != c.want {
			t.Errorf("%v: %d, want %d", c.list, got, c.want)
		}
	}
}

func TestShortName(t *testing.T) {
	for full, want := range map[string]string{
		"github.com/gpk-go/gpk/quantum.(*cudaGram).tile":       "quantum.cudaGram.tile",
		"github.com/gpk-go/gpk/quantum.(*cudaGram).tile.func2": "quantum.cudaGram.tile",
		"main.main":             "main.main",
		"main.run[...]":         "main.run",
		"example.com/a.b/c.f":   "c.f",
		"main.init.0.func1.2.3": "main.init.0",
	} {
		if got := shortName(full); got != want {
			t.Errorf("%s: %s, want %s", full, got, want)
		}
	}
}
