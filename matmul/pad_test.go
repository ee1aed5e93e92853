package matmul

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/internal/testrand"
	"github.com/gpk-go/gpk/layout"
)

// hostPads implements gpk_pad on the host, as gpk.h specifies it, for the listed buffers.
type hostPads struct {
	buffers []*device.Buffer
	calls   int
}

// at returns the n bytes at an address.
func (h *hostPads) at(address uint64, n int) []byte {
	for _, b := range h.buffers {
		if from := int64(address - b.Addr()); address >= b.Addr() && from+int64(n) <= b.Size() {
			return hostBytes(b)[from : from+int64(n)]
		}
	}
	panic("an address outside all buffers")
}

// hostBytes returns the memory of a buffer of the CPU.
func hostBytes(b *device.Buffer) []byte { return unsafe.Slice((*byte)(b.Ptr()), b.Size()) }

func (h *hostPads) Pad(_ int, _ uint64, t dtype.DType, a, b cutlass.Padded) error {
	h.calls++
	for _, c := range []cutlass.Padded{a, b} {
		if c.Lines == 0 {
			continue
		}
		size := t.Size()
		at := func(base uint64, i, n int) []byte { return h.at(base+uint64(i*size), n*size) }
		for j := range c.Batch {
			for l := range c.CopyLines {
				to := at(c.Copy, j*c.CopyMember+l*c.CopyPitch, c.CopyLength)
				clear(to)
				if l < c.Lines {
					copy(to, at(c.Source, j*c.Member+l*c.Pitch, c.Length))
				}
			}
		}
	}
	return nil
}

// TestPadding: one launch makes the same copies as separate operations.
func TestPadding(t *testing.T) {
	rng := testrand.New(t)
	dev := devicetest.CPU(t)
	s, err := dev.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for trial := range 400 {
		dt := []dtype.DType{dtype.Float16, dtype.BFloat16, dtype.Float32, dtype.Complex128, dtype.Int8}[rng.IntN(5)]
		size := dt.Size()
		var pads padding
		var one, other [2]operand
		var host hostPads
		for i, isB := range []bool{false, true} {
			m := matrix{rows: 1 + rng.IntN(40), cols: 1 + rng.IntN(40), offset: rng.IntN(20)}
			how := prep{copy: true, kind: Pad, major: cutlass.Major(rng.IntN(2))}
			lines, line := m.rows, m.cols
			m.rowStride, m.colStep = m.cols+rng.IntN(5), 1
			if how.major == cutlass.ColMajor {
				lines, line = m.cols, m.rows
				m.rowStride, m.colStep = 1, m.rows+rng.IntN(5)
			}
			batch := 1 + rng.IntN(3)
			if rng.IntN(3) > 0 {
				m.batchStride = lines*max(m.rowStride, m.colStep) + rng.IntN(7)
			}
			v := device.View{DType: dt, Layout: layout.Dense([]int{m.offset + batch*m.batchStride + lines*max(m.rowStride, m.colStep) + 8})}
			if v.Buffer, err = dev.Alloc(int64(v.Layout.Size()*size), s); err != nil {
				t.Fatal(err)
			}
			defer v.Buffer.Free()
			for j := range hostBytes(v.Buffer) {
				hostBytes(v.Buffer)[j] = byte(rng.Uint32())
			}
			depth := &m.cols
			if isB {
				depth = &m.rows
			}
			k := *depth + rng.IntN(2)*rng.IntN(9)
			if (how.major == cutlass.RowMajor) != isB { // lines run along k
				line = k
			}
			how.pitch = alignedPitch(line, size, 16)
			var none padding
			var frees [2]func()
			if one[i], frees[0], err = prepareOperand(s, v, m, batch, how, k, isB, &pads); err != nil || pads.n != i+1 {
				t.Fatal(err, pads.n)
			}
			how.kind = Pack
			if other[i], frees[1], err = prepareOperand(s, v, m, batch, how, k, isB, &none); err != nil || none.n != 0 {
				t.Fatal(err, none.n)
			}
			defer frees[0]()
			defer frees[1]()
			for j := range hostBytes(one[i].view.Buffer) {
				hostBytes(one[i].view.Buffer)[j] = 0xa5
			}
			host.buffers = append(host.buffers, v.Buffer, one[i].view.Buffer)
		}
		if err := pads.start(&host, 0, 0); err != nil || host.calls != 1 {
			t.Fatal(err, host.calls)
		}
		for i := range one {
			c := pads.lines[i]
			if one[i].pitch != other[i].pitch || one[i].m != other[i].m {
				t.Fatalf("trial %d: %+v, want %+v", trial, one[i], other[i])
			}
			got, want := hostBytes(one[i].view.Buffer), hostBytes(other[i].view.Buffer)
			for l := range c.Batch * c.CopyLines {
				from := (l/c.CopyLines*c.CopyMember + l%c.CopyLines*c.CopyPitch) * size
				if n := c.CopyLength * size; !bytes.Equal(got[from:from+n], want[from:from+n]) {
					t.Fatalf("trial %d, %v, operand %d: line %d is\n%x, want\n%x", trial, dt, i, l, got[from:from+n], want[from:from+n])
				}
			}
		}
	}
}

// TestPaddingRefuses: a copy that changes more than the pitch is refused.
func TestPaddingRefuses(t *testing.T) {
	m := matrix{rows: 4, cols: 5, rowStride: 5, colStep: 1}
	o := operand{m: matrix{rows: 4, cols: 5, rowStride: 8, colStep: 1}, pitch: 8}
	for name, how := range map[string]prep{
		"transpose": {copy: true, kind: Transpose}, "pack": {copy: true, kind: Pack}, "conjugate": {copy: true, kind: Pad, conj: true}, "none": {},
	} {
		var p padding
		if p.add(device.View{DType: dtype.Float16}, m, o, 1, how) || p.n != 0 {
			t.Errorf("%s is accepted", name)
		}
	}
}

// TestPadsTogether: the model counts one launch for two padded operands.
func TestPadsTogether(t *testing.T) {
	name := "sm90_bf16_bf16_rr_128x128x64_2x1_direct_pingpong"
	k := manifest[slices.IndexFunc(manifest, func(k cutlass.Kernel) bool { return k.Name == name })]
	cycles := func(alignA, alignB int, a, b Layout) float64 {
		t.Helper()
		p, err := Problem{M: 999, N: 4000, K: 4000, A: bf16, B: bf16, LayoutA: a, LayoutB: b, AlignA: alignA, AlignB: alignB, AlignC: 2}.normal()
		if err != nil {
			t.Fatal(err)
		}
		c, ok := fit(p, k, sm90)
		if !ok {
			t.Fatal(name)
		}
		return c.cycles
	}
	for _, c := range []struct {
		a, b  Layout
		saved float64
	}{{RowMajor, RowMajor, stepOverhead}, {ColMajor, RowMajor, 0}, {RowMajor, ColMajor, 0}} {
		apart := cycles(2, 16, c.a, RowMajor) + cycles(16, 2, RowMajor, c.b) - cycles(16, 16, RowMajor, RowMajor)
		if together := cycles(2, 2, c.a, c.b); math.Abs(apart-together-c.saved) > 1 {
			t.Errorf("%v %v: %.0f cycles together, %.0f apart", c.a, c.b, together, apart)
		}
	}
}
