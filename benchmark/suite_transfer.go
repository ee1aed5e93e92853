package main

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/gpk-go/gpk"
)

// transferSamples is the peers' number of copies; their median counts.
const transferSamples = 5

// transferCases copy bytes between host memory and the device: -sizes are
// bytes. Only GPUs use pinned memory.
func transferCases(o options, gpu bool) ([]benchCase, error) {
	if len(o.precisions) > 0 {
		return nil, errors.New("-dtypes: suite transfer copies bytes")
	}
	sizes, err := o.cubesOr("transfer", 1<<20, 1<<26, 1<<30)
	if err != nil {
		return nil, err
	}
	kinds := []string{"pageable"}
	if gpu {
		kinds = append(kinds, "pinned")
	}
	var cs []benchCase
	for _, n := range sizes {
		for _, mem := range kinds {
			for _, dir := range []string{"h2d", "d2h"} {
				cs = append(cs, benchCase{
					name: fmt.Sprintf("Transfer/dir=%s/mem=%s/bytes=%d", dir, mem, n),
					run:  func(r *runner) ([]result, error) { return transfer(r, dir == "h2d", mem == "pinned", n) },
				})
			}
		}
	}
	return cs, nil
}

// transfer times single copies, each waited for, and compares every byte of the last copy
// of a round.
func transfer(r *runner, toDevice, pinned bool, n int) ([]result, error) {
	host := make([]uint8, n)
	if pinned {
		p, free, err := gpk.Pinned[uint8](n)
		if err != nil {
			return nil, err
		}
		defer free()
		host = p
	}
	a := gpk.Zeros(gpk.Uint8, n)
	defer a.Free()
	var out []result
	for round := range r.count {
		// src differs from the contents of dst in every byte but one of 256.
		pattern := bytesFrom(r.seed, uint64(2*round), n)
		copyOnce := func() error { return gpk.FromSliceInto(a, host) }
		read := func() ([]uint8, error) { return gpk.ToSlice[uint8](a) }
		if toDevice {
			copy(host, pattern)
		} else {
			copyOnce = func() error { return gpk.ToSliceInto(host, a) }
			read = func() ([]uint8, error) { return host, nil }
			if err := gpk.FromSliceInto(a, pattern); err != nil {
				return out, err
			}
		}
		var laps []float64
		for range transferSamples {
			d, err := wallClock{r.dev}.lap(max(1, r.iterations), copyOnce)
			if err != nil {
				return out, err
			}
			laps = append(laps, d.Seconds()/float64(max(1, r.iterations)))
		}
		got, err := read()
		if err != nil {
			return out, err
		}
		for i, want := range pattern {
			if got[i] != want {
				return out, fmt.Errorf("wrong result: byte %d of %d arrived as %#02x, not %#02x", i, n, got[i], want)
			}
		}
		w := work{float64(n), "GB/s"}
		out = append(out, result{Iterations: transferSamples * max(1, r.iterations), Metrics: w.metrics(median(laps))})
	}
	return out, nil
}

// bytesFrom returns n pseudo-random bytes.
func bytesFrom(seed, stream uint64, n int) []uint8 {
	var key [32]byte
	for i := range 8 {
		key[i], key[8+i] = byte(seed>>(8*i)), byte(stream>>(8*i))
	}
	b := make([]uint8, n)
	_, _ = rand.NewChaCha8(key).Read(b) // never fails
	return b
}
