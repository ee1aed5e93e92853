package fft

import (
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/layout"
)

// work holds the transforms of the lines along the last axis of an array.
type work struct {
	kind    kind
	n       int
	inverse bool
	scale   float64
}

// run computes dst from reads[0]. It is called when the result is needed.
func (w *work) run(s *device.Stream, dst device.View, reads []device.View) error {
	src, dev := reads[0], s.Device()
	if dst.Layout.Size() == 0 {
		return nil
	}
	numbers := 5 * int64(w.n) // bytes for a line, its scratch memory and its plan, in units of a number
	if factors(w.n) == nil {
		numbers *= 4
	}
	if err := deviceapi.HostRoom(16 * numbers); err != nil {
		return err
	}
	if dev.Kind() == device.CPU {
		return dev.Launch(s, []*device.Buffer{src.Buffer}, []*device.Buffer{dst.Buffer}, func(int, uint64) error {
			w.compute(dst.DType, dst.Ptr(), dst.Layout, src.DType, src.Ptr(), src.Layout)
			return nil
		})
	}
	for _, n := range []int64{src.NBytes(), dst.NBytes()} {
		if err := deviceapi.HostRoom(n); err != nil {
			return err
		}
	}
	// Memory of 8-byte words is aligned for every type.
	from, to := make([]uint64, (src.NBytes()+7)/8), make([]uint64, (dst.NBytes()+7)/8)
	if err := dev.CopyToHost(bytesOf(from)[:src.NBytes()], src.Buffer, src.Start(), s); err != nil {
		return err
	}
	w.compute(dst.DType, unsafe.Pointer(unsafe.SliceData(to)), layout.Dense(dst.Layout.Shape), src.DType, unsafe.Pointer(unsafe.SliceData(from)), layout.Dense(src.Layout.Shape))
	return dev.CopyFromHost(dst.Buffer, dst.Start(), bytesOf(to)[:dst.NBytes()], s)
}

func bytesOf(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
}

// compute transforms lines in the host's memory. The lines of dst have no gaps.
func (w *work) compute(dt dtype.DType, dst unsafe.Pointer, to layout.Layout, st dtype.DType, src unsafe.Pointer, from layout.Layout) {
	lines := linesOf(from)
	switch {
	case dt == dtype.Float32:
		both(w, (*float32)(dst), (*complex64)(nil), st, src, lines, to)
	case dt == dtype.Float64:
		both(w, (*float64)(dst), (*complex128)(nil), st, src, lines, to)
	case dt == dtype.Complex64:
		both(w, (*complex64)(dst), (*complex64)(nil), st, src, lines, to)
	default:
		both(w, (*complex128)(dst), (*complex128)(nil), st, src, lines, to)
	}
}

// element is the set of types of the elements that a transform reads and writes.
type element interface {
	float32 | float64 | complex64 | complex128
}

// both chooses the type of the elements that are read. C is the type in which the transform is
// computed.
func both[D element, C number](w *work, dst *D, _ *C, st dtype.DType, src unsafe.Pointer, from lines, to layout.Layout) {
	switch st {
	case dtype.Float32:
		all[D, C](w, dst, (*float32)(src), from, to)
	case dtype.Float64:
		all[D, C](w, dst, (*float64)(src), from, to)
	case dtype.Complex64:
		all[D, C](w, dst, (*complex64)(src), from, to)
	default:
		all[D, C](w, dst, (*complex128)(src), from, to)
	}
}

// lines describes the lines along the last axis in memory: line i begins offset(i) elements
// after the first, and has n elements at a distance of step.
type lines struct {
	shape, strides []int
	n, step        int
}

func linesOf(l layout.Layout) lines {
	last := len(l.Shape) - 1
	return lines{l.Shape[:last], l.Strides[:last], l.Shape[last], l.Strides[last]}
}

func (l lines) offset(i int) int {
	at := 0
	for d := len(l.shape) - 1; d >= 0; d-- {
		at += i % l.shape[d] * l.strides[d]
		i /= l.shape[d]
	}
	return at
}

// all transforms every line, several at a time.
func all[D element, C number, S element](w *work, dst *D, src *S, from lines, to layout.Layout) {
	written := to.Shape[len(to.Shape)-1]
	count := to.Size() / written
	t := transformerOf[C, S](w)
	alone := count == 1 || t.plan.n >= manyElements && count < 8
	grain := 1 + 1<<10/w.n
	if alone {
		grain = count
	}
	cpu.Parallel(count, grain, func(lo, hi int) {
		scratch, line, lent := memory[C](t.plan.scratch(), t.room)
		defer lent.Free()
		one := func(i int, x reader[S]) {
			y := unsafe.Slice((*D)(unsafe.Add(unsafe.Pointer(dst), i*written*int(unsafe.Sizeof(*dst)))), written)
			own := line
			if c, ok := any(y).([]C); ok && len(y) == t.result() {
				own = c // the transform leaves the result in the destination
			}
			result := run(t, own, scratch, x, alone)
			store(y, result)
		}
		eachLine(src, from, lo, hi, one)
	})
}

// memory returns pooled memory of m and of n numbers. Its contents are undefined.
func memory[C element](m, n int) (a, b []C, lent cpu.Scratch[float64]) {
	lent = cpu.NewScratch[float64](((m+n)*int(unsafe.Sizeof(C(0))) + 7) / 8)
	all := unsafe.Slice((*C)(unsafe.Pointer(unsafe.SliceData(lent.Data()))), m+n)
	return all[:m], all[m:], lent
}

// store writes the numbers x to the line y, unless y is the same memory.
func store[D element, C number](y []D, x []C) {
	switch y := any(y).(type) {
	case []C:
		if &y[0] != &x[0] {
			copy(y, x)
		}
	case []float32:
		copy(y, unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x)))
	case []float64:
		copy(y, unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x)))
	}
}
