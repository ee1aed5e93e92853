package quantum

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/testrand"
)

// A circuit keeps state from its last Gram matrix. Other matrices must not use that state.

// gatesOf adds the gates of a list, by number.
func gatesOf(c *Circuit, list []int) *Circuit {
	for _, g := range list {
		switch w := g % 4; g / 4 % 4 {
		case 0:
			c.RY(w, Feature(w).Scale(1+float64(g)/8))
		case 1:
			c.RX(w, Feature(w))
		case 2:
			c.RZ(w, Feature(w))
		case 3:
			c.CRY(w, (w+1)%4, Feature(w))
		}
	}
	return c
}

// TestAgain computes matrix after matrix of one circuit, which gates are added to, and of
// other samples, sizes and options, on one device and on another: each is bit for bit that
// of a circuit which was made for it, and so is its plan.
func TestAgain(t *testing.T) {
	onCPU(t)
	rng := testrand.New(t)
	list := []int{0, 5, 10}
	c := gatesOf(NewCircuit(4), list)
	for call := range 60 {
		if rng.IntN(4) == 0 && call < 40 {
			g := rng.IntN(12)
			if call > 25 {
				g = rng.IntN(16) // gates that entangle, too
			}
			list = append(list, g)
			gatesOf(c, list[len(list)-1:])
		}
		o := Options{MemoryBudget: 1 << (26 + rng.IntN(3))}
		switch rng.IntN(8) {
		case 0:
			o.Precision = Precision(rng.IntN(3))
		case 1:
			o.Tile = 2 + rng.IntN(40)
		case 2:
			o.Normalize, o.Jitter = true, 0.25*float64(rng.IntN(2))
		case 3:
			o.Jitter = 0.5
		case 4:
			o.Keep, o.Tile = Recompute, 16
		case 5:
			o.Path = General
		case 6:
			o.Streams, o.Tile = 2, 24
		}
		sizes := []int{1, 17, 40}
		x := arrayOf(randomSamples(rng, sizes[rng.IntN(len(sizes))], 4), 4)
		var y *gpk.Array
		if rng.IntN(3) == 0 {
			y = arrayOf(randomSamples(rng, sizes[rng.IntN(len(sizes))], 4), 4)
		}
		got, err := Gram(context.Background(), c, x, y, o)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Gram(context.Background(), gatesOf(NewCircuit(4), list), x, y, o)
		if err != nil {
			t.Fatal(err)
		}
		if got.Plan != want.Plan {
			t.Errorf("call %d, %+v: plan\n%v\nof a new circuit\n%v", call, o, got.Plan, want.Plan)
		}
		if g, w := bitsOf(t, got.K), bitsOf(t, want.K); !slices.Equal(g, w) {
			t.Fatalf("call %d, %v, %+v: other bits than those of a new circuit", call, c, o)
		}
		if g, w := got.Report, want.Report; g.MaxBuilds != w.MaxBuilds || g.ToDevice != w.ToDevice || g.FromDevice != w.FromDevice || g.Launches != w.Launches || g.MaxDiagonalError != w.MaxDiagonalError {
			t.Errorf("call %d, %+v: report\n%v\nof a new circuit\n%v", call, o, g, w)
		}
		got.K.Free()
		want.K.Free()
	}
}

func bitsOf(t *testing.T, k *gpk.Array) []uint64 {
	t.Helper()
	var b []uint64
	for _, v := range values(t, k) {
		b = append(b, math.Float64bits(v))
	}
	return b
}

// TestAgainTiles: a circuit's next matrices have the tiles of its first.
func TestAgainTiles(t *testing.T) {
	onCPU(t)
	rng := testrand.New(t)
	c := ZZFeatureMap(10, 1)
	x := arrayOf(randomSamples(rng, 500, 10), 10)
	var first []Progress
	for call := range 3 {
		var tiles []Progress
		r, err := Gram(context.Background(), c, x, nil, Options{MemoryBudget: smallBudget(), Keep: Recompute, Progress: func(p Progress) {
			p.Elapsed = 0
			tiles = append(tiles, p)
		}})
		if err != nil {
			t.Fatal(err)
		}
		r.K.Free()
		if call == 0 {
			first = tiles
		}
		if !slices.Equal(tiles, first) {
			t.Errorf("call %d had %d tiles, the first %d", call, len(tiles), len(first))
		}
	}
}

// TestAgainTogether: goroutines compute matrices of one circuit, of several sizes and with
// several options.
func TestAgainTogether(t *testing.T) {
	onCPU(t)
	rng := testrand.New(t)
	for _, list := range [][]int{{0, 5, 10}, {0, 5, 14, 3}} {
		type request struct {
			x    *gpk.Array
			o    Options
			want []uint64
		}
		var requests []request
		for _, n := range []int{5, 33} {
			for _, o := range []Options{{}, {Precision: Double}, {Tile: 8}, {Normalize: true}} {
				o.MemoryBudget = 1 << 27
				x := arrayOf(randomSamples(rng, n, 4), 4)
				r, err := Gram(context.Background(), gatesOf(NewCircuit(4), list), x, nil, o)
				if err != nil {
					t.Fatal(err)
				}
				requests = append(requests, request{x, o, bitsOf(t, r.K)})
				r.K.Free()
			}
		}
		c := gatesOf(NewCircuit(4), list)
		var group sync.WaitGroup
		for g := range 4 {
			group.Go(func() {
				for i := range 12 {
					q := requests[(g*5+i*3)%len(requests)]
					r, err := Gram(context.Background(), c, q.x, nil, q.o)
					if err != nil {
						t.Error(err)
						return
					}
					v, err := gpk.ToSlice[float64](r.K.Cast(gpk.Float64))
					if err != nil {
						t.Error(err)
						return
					}
					for k := range v {
						if math.Float64bits(v[k]) != q.want[k] {
							t.Errorf("%+v: other bits than those of a circuit of its own", q.o)
							return
						}
					}
					r.K.Free()
				}
			})
		}
		group.Wait()
	}
}

// TestPacked: the upload blob of a circuit has the codes where it says, is used again for as
// many tiles, and is another one once the circuit has grown.
func TestPacked(t *testing.T) {
	c := gatesOf(NewCircuit(4), []int{0, 5, 14, 3})
	var before []byte
	for _, grown := range []bool{false, true} {
		if grown {
			gatesOf(c, []int{6, 9})
		}
		for _, tiles := range []int{1, 3, 3, 1} {
			k := compiled(t, c, Auto)
			p := k.packed(tiles)
			if again := compiled(t, c, Auto).packed(tiles); again != p {
				t.Errorf("%d tiles: packed again", tiles)
			}
			fresh := compiled(t, gatesOf(NewCircuit(4), map[bool][]int{false: {0, 5, 14, 3}, true: {0, 5, 14, 3, 6, 9}}[grown]), Auto).packed(tiles)
			if !bytes.Equal(p.bytes, fresh.bytes) || p.notes != fresh.notes || !reflect.DeepEqual(p.codes, fresh.codes) {
				t.Errorf("grown %v, %d tiles: other bytes than those of a new circuit", grown, tiles)
			}
			if grown && bytes.Equal(p.bytes, before) {
				t.Error("a gate more changes nothing")
			}
			if !grown && tiles == 1 {
				before = bytes.Clone(p.bytes)
			}
			checkNotes(t, k, p, tiles)
			codes := k.encoded()
			list := slices.Clone(codes.blocks)
			if codes.wires != nil {
				list = append(list, codes.wires)
			}
			if len(list) != len(p.codes) {
				t.Fatalf("%d codes, %d places", len(list), len(p.codes))
			}
			for i, c := range list {
				at := p.codes[i]
				checkWords(t, fmt.Sprint("angles of code ", i), p.bytes, at.angles, c.angles)
				checkWords(t, fmt.Sprint("slots of code ", i), p.bytes, at.slots, c.slots)
				for k, v := range map[uint64][]float64{at.coefs: c.coefs, at.fixed: c.fixed} {
					for j, want := range v {
						if got := math.Float64frombits(binary.LittleEndian.Uint64(p.bytes[k+uint64(8*j):])); got != want {
							t.Errorf("code %d: number %d at %d is %v, want %v", i, j, k, got, want)
						}
					}
				}
				for k, pass := range c.passes {
					checkWords(t, fmt.Sprintf("pass %d of code %d", k, i), p.bytes, at.passes[k], pass.words)
				}
			}
		}
	}
	// Notes of many tiles are not kept with a circuit.
	k := compiled(t, c, Auto)
	p := k.packed(maxPacked / (8 * tileWords))
	if k.codes.packed.Load() == p {
		t.Errorf("%d bytes are kept", len(p.bytes))
	}
}

func checkNotes(t *testing.T, k *kernel, p *packed, tiles int) {
	t.Helper()
	sets := 2 * (len(k.blocks) + 1)
	if want := 8 * (noteWords*sets + tileWords*tiles); p.notes != want {
		t.Errorf("%d bytes of notes, want %d", p.notes, want)
	}
	for i := range p.notes / 8 {
		want := uint64(0)
		if i < noteWords*sets {
			want = nothingFound
		}
		if got := binary.LittleEndian.Uint64(p.bytes[8*i:]); got != want {
			t.Errorf("note %d is %#x, want %#x", i, got, want)
		}
	}
}

func checkWords(t *testing.T, what string, b []byte, at uint64, words []int32) {
	t.Helper()
	for i, want := range words {
		if got := int32(binary.LittleEndian.Uint32(b[at+uint64(4*i):])); got != want {
			t.Errorf("%s: word %d is %d, want %d", what, i, got, want)
		}
	}
}
