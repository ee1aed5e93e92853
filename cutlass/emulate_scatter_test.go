//go:build cgo

package cutlass

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os/exec"
	"testing"
)

// emulatedScatter is a problem of testdata/emulate/scatter.cpp, which describes the fields. Elements are
// given by their bits.
type emulatedScatter struct {
	kind, bytes, indexBytes int
	splat                   bool
	n, count, width         int
	x, values               []uint64
	places                  []int64
}

// run returns the flags and the result of the program.
func (p *emulatedScatter) run(t *testing.T, program string) (flags [2]int64, out []uint64) {
	t.Helper()
	var in bytes.Buffer
	splat := 0
	if p.splat {
		splat = 1
	}
	for _, v := range []int{p.kind, p.bytes, p.indexBytes, splat, p.n, p.count, p.width} {
		in.Write(binary.LittleEndian.AppendUint64(nil, uint64(v)))
	}
	words := func(list []uint64, size int) {
		for _, v := range list {
			in.Write(binary.LittleEndian.AppendUint64(nil, v)[:size])
		}
		in.Write(make([]byte, -in.Len()&7))
	}
	words(p.x, p.bytes)
	places := make([]uint64, len(p.places))
	for i, v := range p.places {
		places[i] = uint64(v)
	}
	words(places, p.indexBytes)
	words(p.values, p.bytes)
	cmd := exec.Command(program)
	cmd.Stdin = &in
	data, err := cmd.Output()
	if err != nil || len(data) < 16+len(p.x)*p.bytes {
		t.Fatalf("%v, %d bytes", err, len(data))
	}
	for i := range flags {
		flags[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	data = data[16:]
	for i := range p.x {
		if p.bytes == 8 {
			out = append(out, binary.LittleEndian.Uint64(data[8*i:]))
		} else {
			out = append(out, uint64(binary.LittleEndian.Uint32(data[4*i:])))
		}
	}
	return flags, out
}

// draw fills in the operands, which element draws. skew is the part of the indices that are 0.
func (p *emulatedScatter) draw(rng *rand.Rand, skew float64, element func() uint64) {
	for range p.n * p.width {
		p.x = append(p.x, element())
	}
	for range p.count {
		at := rng.Int64N(int64(p.n))
		if rng.Float64() < skew {
			at = 0
		}
		if rng.IntN(3) == 0 {
			at -= int64(p.n)
		}
		p.places = append(p.places, at)
	}
	rows := p.count
	if p.splat {
		rows = 1
	}
	for range rows * p.width {
		p.values = append(p.values, element())
	}
}

// each calls f with the index of each sum and of each value that is added to it.
func (p *emulatedScatter) each(f func(to, from int)) {
	for i, at := range p.places {
		if at < 0 {
			at += int64(p.n)
		}
		from := i
		if p.splat {
			from = 0
		}
		for c := range p.width {
			f(int(at)*p.width+c, from*p.width+c)
		}
	}
}

// TestEmulatedScatter compares additions of integers with a loop, and those of float32 with sums
// in 700 bits, rounded once.
func TestEmulatedScatter(t *testing.T) {
	program := emulated(t, "scatter")
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	for _, skew := range []float64{0, 0.5, 1} {
		for kind := range 4 {
			for _, bytes := range []int{4, 8} {
				floats := kind == 0 || kind == 3
				if !floats || bytes == 4 {
					p := emulatedScatter{kind: kind, bytes: bytes, indexBytes: 4 << rng.IntN(2), splat: rng.IntN(4) == 0, n: 1 + rng.IntN(40), count: 1 + rng.IntN(6000), width: 1 + rng.IntN(4)}
					t.Run(fmt.Sprintf("kind %d, %d and %d bytes, %d x %d, %d indices, skew %v, splat %v", kind, bytes, p.indexBytes, p.n, p.width, p.count, skew, p.splat), func(t *testing.T) {
						if floats {
							p.checkFloats(t, program, rng, skew)
						} else {
							p.checkWhole(t, program, rng, skew)
						}
					})
				}
			}
		}
	}
	for _, kind := range []int{0, 3} {
		t.Run(fmt.Sprintf("corners of kind %d", kind), func(t *testing.T) { checkCorners(t, program, kind) })
	}
	t.Run("outside", func(t *testing.T) {
		p := emulatedScatter{kind: 1, bytes: 8, indexBytes: 8, n: 3, count: 7, width: 2}
		p.draw(rng, 0, rng.Uint64)
		copy(p.places, []int64{3, -4, 2, math.MinInt64, math.MaxInt64, -3, 0})
		if flags, _ := p.run(t, program); flags != [2]int64{math.MinInt64, math.MaxInt64} {
			t.Errorf("flags %v", flags)
		}
	})
}

// checkCorners adds terms whose sums cancel, are halfway between two numbers, or leave the range.
func checkCorners(t *testing.T, program string, kind int) {
	const tiny, most = math.SmallestNonzeroFloat32, math.MaxFloat32
	minus, inf := math.Copysign(0, -1), math.Inf(1)
	rows := [][]float64{
		{minus},
		{minus, minus, minus},
		{minus, 1, -1},
		{minus, 0},
		{0, minus},
		{1, -1},
		{minus, tiny, -tiny},
		{1, 0x1p-24},
		{1, 0x1p-24, tiny},
		{1, 0x1p-24, -tiny},
		{1 + 0x1p-23, 0x1p-24},
		{-1, -0x1p-24, -tiny},
		{1 - 0x1p-24, 0x1p-25},
		{most, most},
		{most, most, -most},
		{most, 0x1p103},
		{most, 0x1p103, -tiny},
		{-most, -most},
		{0x1p100, 1, -0x1p100},
		{tiny, tiny},
		{0x1p-126, -tiny},
		{tiny, 0x1p127, -0x1p127},
		{inf, 1},
		{inf, -inf},
		{1, inf},
		{1, inf, -inf},
		{-inf, most},
		{1, math.NaN()},
		{math.NaN(), 1},
	}
	p := emulatedScatter{kind: kind, bytes: 4, indexBytes: 8, n: len(rows), width: 1}
	bits := func(v float64) uint64 { return uint64(math.Float32bits(float32(v))) }
	for i, terms := range rows {
		p.x = append(p.x, bits(terms[0]))
		for _, v := range terms[1:] {
			p.places, p.values = append(p.places, int64(i)), append(p.values, bits(v))
		}
	}
	p.count = len(p.places)
	_, got := p.run(t, program)
	for i, terms := range rows {
		want, have := exactSum(terms), math.Float32frombits(uint32(got[i]))
		if math.Float32bits(want) != math.Float32bits(have) && (want == want || have == have) {
			t.Errorf("the sum of %v is %v (%08x), want %v (%08x)", terms, have, got[i], want, math.Float32bits(want))
		}
	}
}

func (p *emulatedScatter) checkWhole(t *testing.T, program string, rng *rand.Rand, skew float64) {
	mask := ^uint64(0) >> (64 - 8*p.bytes)
	p.draw(rng, skew, func() uint64 { return rng.Uint64() & mask })
	want := append([]uint64{}, p.x...)
	p.each(func(to, from int) { want[to] = (want[to] + p.values[from]) & mask })
	flags, got := p.run(t, program)
	for i, w := range want {
		if got[i] != w {
			t.Fatalf("sum %d is %x, want %x", i, got[i], w)
		}
	}
	if flags != [2]int64{} {
		t.Errorf("flags %v", flags)
	}
}

// checkFloats draws values of all magnitudes or of neighbouring ones, and special ones in some sums.
func (p *emulatedScatter) checkFloats(t *testing.T, program string, rng *rand.Rand, skew float64) {
	spread := []int{1, 30, 254}[rng.IntN(3)]
	start := rng.IntN(255 - spread)
	special := rng.IntN(2) == 0
	p.draw(rng, skew, func() uint64 {
		bits := uint64(rng.Uint32()&0x807fffff) | uint64(start+rng.IntN(spread))<<23
		if !special {
			return bits
		}
		switch rng.IntN(400) {
		case 0:
			return 0x7f800000
		case 1:
			return 0xff800000
		case 2:
			return 0x7fc00001
		case 3, 4, 5, 6:
			return 0
		}
		return bits
	})
	for i := range p.x { // -0 stays where only -0 is added
		if rng.IntN(4) == 0 {
			p.x[i] = 1 << 31
		}
	}
	if special && !p.splat {
		for i := range p.values {
			switch to := p.places[i/p.width]; {
			case to == 1:
				p.values[i] = 1 << 31
			case to == 2: // the sum cancels, unless the number of terms is odd
				p.values[i] = 0x3f800000 | uint64(i/p.width%2)<<31
			}
		}
	}
	sums := make([][]float64, len(p.x))
	add := func(to int, bits uint64) {
		sums[to] = append(sums[to], float64(math.Float32frombits(uint32(bits))))
	}
	for i, bits := range p.x {
		add(i, bits)
	}
	p.each(func(to, from int) { add(to, p.values[from]) })
	_, got := p.run(t, program)
	for i, terms := range sums {
		want, have := exactSum(terms), math.Float32frombits(uint32(got[i]))
		if math.Float32bits(want) != math.Float32bits(have) && (want == want || have == have) {
			t.Fatalf("sum %d of %d is %v (%08x), want %v (%08x)", i, len(terms), have, got[i], want, math.Float32bits(want))
		}
	}
}

// exactSum rounds the sum of terms once.
func exactSum(terms []float64) float32 {
	sum := new(big.Float).SetPrec(700)
	special, negative := 0.0, true
	for _, v := range terms {
		negative = negative && v == 0 && math.Signbit(v)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			special += v // infinities of both signs give NaN
			continue
		}
		sum.Add(sum, new(big.Float).SetFloat64(v))
	}
	switch {
	case special != 0:
		return float32(special)
	case sum.Sign() == 0 && negative:
		return float32(math.Copysign(0, -1))
	case sum.Sign() == 0:
		return 0
	}
	f, _ := sum.Float32()
	return f
}
