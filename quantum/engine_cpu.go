package quantum

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/cpu"
)

// cpuEngine is the engine of the host: states by goroutines, products by package
// internal/cpu.
type cpuEngine struct {
	poison bool // fill K with NaN first, to verify that all of it is written
}

// hostArray allocates an array on a CPU device and also returns its memory, which is not
// initialized.
func hostArray[T number | complex64 | complex128](dev *device.Device, dt gpk.DType, shape ...int) (*gpk.Array, []T, error) {
	n := 1
	for _, s := range shape {
		if s != 0 && n > math.MaxInt/64/s {
			return nil, nil, fmt.Errorf("%w: %v %v", gpk.ErrOutOfMemory, shape, dt)
		}
		n *= s
	}
	buf, err := dev.Alloc(int64(n)*int64(dt.Size()), nil)
	if err != nil {
		return nil, nil, err
	}
	a := array.FromBuffer(buf, dt, shape...)
	if err := a.Err(); err != nil {
		buf.Free()
		return nil, nil, err
	}
	if n == 0 {
		return a, nil, nil
	}
	return a, unsafe.Slice((*T)(buf.Ptr()), n), nil
}

// states computes complex64 states in float64 if gates follow the product of the wires'
// vectors, and rounds every amplitude once. In float32 each gate's matrix deviates from a
// unitary one by up to 6e-8, and each amplitude is rounded after each gate: after 200
// layers of one angle on eight qubits, |psi|^2 differed from 1 by 9e-5, and amplitudes had
// errors of 2e-5.
func (cpuEngine) states(ctx context.Context, dev *device.Device, p *program, x *samples, dt gpk.DType) (*gpk.Array, error) {
	switch {
	case dt == gpk.Complex128:
		return statesCPU[float64, float64, complex128](ctx, dev, p, x, dt)
	case p.grows():
		return statesCPU[float64, float32, complex64](ctx, dev, p, x, dt)
	}
	return statesCPU[float32, float32, complex64](ctx, dev, p, x, dt)
}

// statesCPU computes in T the states of C, a complex number with two R.
func statesCPU[T, R number, C complex64 | complex128](ctx context.Context, dev *device.Device, p *program, x *samples, dt gpk.DType) (*gpk.Array, error) {
	d := 1 << p.qubits
	a, data, err := hostArray[C](dev, dt, x.n, d)
	if err != nil {
		return nil, err
	}
	err = build(ctx, p, x, 0, x.n, func(i int, re, im []T) {
		interleave(unsafe.Slice((*[2]R)(unsafe.Pointer(&data[i*d])), d), re, im)
	})
	if err != nil {
		a.Free()
		return nil, err
	}
	return a, nil
}

// interleave stores re + i im as complex numbers.
func interleave[T, R number](row [][2]R, re, im []T) {
	row = row[:len(re)]
	if im == nil {
		for i, v := range re {
			row[i] = [2]R{R(v)}
		}
		return
	}
	im = im[:len(re)]
	for i, v := range re {
		row[i] = [2]R{R(v), R(im[i])}
	}
}

// sharedQubits is the number of qubits from which all goroutines build one state together, because
// a state per goroutine would need too much memory.
const sharedQubits = 20

// build runs p on the samples lo … hi-1 and calls put with every state. The memory of a state is
// reused after put. Each sample runs in one goroutine, which calls put. If there are few samples
// with large states, all goroutines work on one sample after the other.
func build[T number](ctx context.Context, p *program, x *samples, lo, hi int, put func(i int, re, im []T)) error {
	common := newFixedPhases[T](p)
	workers, spread := runtime.GOMAXPROCS(0), inline
	if n := hi - lo; p.qubits >= sharedQubits || n < workers && 1<<p.qubits >= 2*minSpread {
		workers, spread = 1, across
	}
	return distribute(ctx, hi-lo, workers, func() func(i int) error {
		m := newSimulator(p, common, spread)
		m.stop = func() bool { return ctx.Err() != nil }
		re, im := make([]T, 1<<p.qubits), []T(nil)
		if !p.real {
			im = make([]T, 1<<p.qubits)
		}
		return func(i int) error {
			if bad := m.run(x.row(lo+i), re, im); bad >= 0 {
				return p.angles.describe(bad, x.name, x.origin(lo+i))
			}
			put(lo+i, re, im)
			return nil
		}
	})
}

// distribute calls functions with the numbers 0 … n-1 in up to `workers` goroutines, until one
// returns an error or ctx ends. start makes the function of a goroutine.
func distribute(ctx context.Context, n, workers int, start func() func(i int) error) error {
	var next atomic.Int64
	var once sync.Once
	var failed error
	work := func() {
		for f := start(); ctx.Err() == nil; {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if err := f(i); err != nil {
				once.Do(func() { failed = err })
				next.Store(int64(n)) // ends the other goroutines
				return
			}
		}
	}
	var wg sync.WaitGroup
	for range min(workers, n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if failed == nil {
		failed = ctx.Err()
	}
	return failed
}

// rows runs f on parts of 0 … n-1 in several goroutines, if there is enough work.
func rows(n, work int, f func(lo, hi int)) {
	const least = 1 << 14 // minimum work for a goroutine
	cpu.Parallel(n, n*least/max(work, 1), f)
}

func (e cpuEngine) gram(ctx context.Context, j *job) error {
	if j.options.Precision == Double {
		return gramCPU[float64](ctx, j, e.poison)
	}
	return gramCPU[float32](ctx, j, e.poison)
}
