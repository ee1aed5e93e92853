package gpktest

import (
	"flag"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	gpk "github.com/gpk-go/gpk"
)

// lockedReads is the number of reads between writes.
var lockedReads = flag.Int("gpktest.locked", 0, "how many times each of four goroutines reads while another writes; 0: 2,000, and 300 in a short run")

// testContents checks that arrays have the contents of their line. It reads a whole array
// and parts of it, with writes to parts and to the whole in between, and in any order of
// the reads.
func testContents(t *testing.T, s *suite) {
	for range 20 {
		x := make([]float32, 6*5)
		for i := range x {
			x[i] = float32(s.rng.IntN(100))
		}
		a := gpk.FromSlice(x, 6, 5)
		var made []*gpk.Array
		var want [][]float32
		reads := func() {
			low := s.rng.IntN(6)
			high := low + 1 + s.rng.IntN(6-low)
			k := float32(1 + s.rng.IntN(9))
			rows := make([]float32, 0, len(x))
			for _, v := range x[5*low : 5*high] {
				rows = append(rows, k*v)
			}
			made, want = append(made, a.Slice(0, low, high).Mul(k)), append(want, rows)
		}
		for range 12 {
			reads()
			reads()
			low := s.rng.IntN(6)
			high := low + 1 + s.rng.IntN(6-low)
			if s.rng.IntN(3) == 0 {
				low, high = 0, 6
			}
			part := a.Slice(0, low, high)
			k := float32(s.rng.IntN(50))
			if s.rng.IntN(2) == 0 {
				noError(t, part.AddInPlace(k))
				for i := 5 * low; i < 5*high; i++ {
					x[i] += k
				}
			} else {
				noError(t, part.CopyFrom(k))
				for i := 5 * low; i < 5*high; i++ {
					x[i] = k
				}
			}
		}
		made, want = append(made, a), append(want, x)
		for _, i := range s.rng.Perm(len(made)) {
			got, err := gpk.ToSlice[float32](made[i].Reshape(-1))
			noError(t, err)
			for j := range got {
				if got[j] != want[i][j] {
					t.Fatalf("array %d of %d: element %d is %v, want %v", i, len(made), j, got[j], want[i][j])
				}
			}
		}
	}
}

// testTraining runs steps of logistic regression, reads the results after the weights
// have been written, and compares all of them with float64.
func testTraining(t *testing.T, s *suite) {
	const rows, n, steps = 64, 7, 30
	normal := func(k int) []float32 {
		out := make([]float32, k)
		for i := range out {
			out[i] = float32(s.rng.NormFloat64())
		}
		return out
	}
	xs, ys, ws := normal(rows*n), make([]float32, rows), normal(n)
	for i := range ys {
		ys[i] = float32(s.rng.IntN(2))
	}
	ref := make([]float64, n)
	for i, v := range ws {
		ref[i] = float64(v)
	}
	x, y, w := gpk.FromSlice(xs, rows, n), gpk.FromSlice(ys, rows, 1), gpk.FromSlice(ws, n, 1)
	for step := range steps {
		p := x.MatMul(w, gpk.FullPrecision).Sigmoid()
		d := p.Sub(y)
		noError(t, w.AddInPlace(x.T().MatMul(d, gpk.FullPrecision).Mul(-0.01)))
		acc := p.Gt(0.5).Eq(y.Gt(0.5))

		wantP, wantD := make([]float64, rows), make([]float64, rows)
		for i := range rows {
			z := 0.0
			for j := range n {
				z += float64(xs[i*n+j]) * ref[j]
			}
			wantP[i] = 1 / (1 + math.Exp(-z))
			wantD[i] = wantP[i] - float64(ys[i])
		}
		for j := range n {
			g := 0.0
			for i := range rows {
				g += float64(xs[i*n+j]) * wantD[i]
			}
			ref[j] -= 0.01 * g
		}
		hits, err := gpk.ToSlice[bool](acc)
		noError(t, err)
		for i, hit := range hits {
			if math.Abs(wantP[i]-0.5) > 1e-4 && hit != ((wantP[i] > 0.5) == (ys[i] > 0.5)) {
				t.Fatalf("step %d: sample %d, p = %v, y = %v: right is %v", step, i, wantP[i], ys[i], hit)
			}
		}
		for _, c := range []struct {
			name string
			a    *gpk.Array
			want []float64
		}{{"p", p, wantP}, {"d", d, wantD}, {"w", w, ref}} {
			got, err := gpk.ToSlice[float32](c.a)
			noError(t, err)
			for i := range got {
				if !(math.Abs(float64(got[i])-c.want[i]) <= 1e-4) {
					t.Fatalf("step %d: %s[%d] is %v, want %v", step, c.name, i, got[i], c.want[i])
				}
			}
		}
	}
}

// testLocked has four goroutines compute from an array under a lock for readers, and
// read the results later, while another writes the array under the lock for writers.
func testLocked(t *testing.T, s *suite) {
	reads := *lockedReads
	if reads == 0 {
		reads = 2000
		if quick() {
			reads = 300
		}
	}
	const n = 64
	w := gpk.Ones(gpk.Float32, n)
	var lock sync.RWMutex
	written := 1 // the value of w's elements
	var readers sync.WaitGroup
	for range 4 {
		seed := s.rng.Uint64()
		readers.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 0))
			for i := range reads {
				lock.RLock()
				want := 2 * float32(written)
				scaled := w.Mul(2)
				total := scaled.Sum()
				lock.RUnlock()
				if rng.IntN(8) == 0 {
					runtime.Gosched()
				}
				sum, err := gpk.Item[float32](total)
				if err != nil || sum != n*want {
					t.Errorf("read %d: the sum is %v, %v; want %v", i, sum, err, n*want)
					return
				}
				all, err := gpk.ToSlice[float32](scaled)
				if err != nil {
					t.Errorf("read %d: %v", i, err)
					return
				}
				for k, v := range all {
					if v != want {
						t.Errorf("read %d: element %d is %v, want %v", i, k, v, want)
						return
					}
				}
			}
		})
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			lock.Lock()
			var err error
			if written > 1000 { // sums stay exact
				written, err = 1, w.CopyFrom(1)
			} else if i%2 == 0 {
				err = w.AddInPlace(1)
				written++
			} else { // in two parts
				if err = w.Slice(0, 0, n/3).AddInPlace(1); err == nil {
					err = w.Slice(0, n/3, n).AddInPlace(1)
				}
				written++
			}
			lock.Unlock()
			if err != nil {
				t.Errorf("write %d: %v", i, err)
				return
			}
			runtime.Gosched()
		}
	}()
	began := time.Now()
	readers.Wait()
	t.Logf("%d reads, %.1f s", 4*reads, time.Since(began).Seconds())
	close(stop)
	<-stopped
	got, err := gpk.ToSlice[float32](w)
	noError(t, err)
	for i, v := range got {
		if v != float32(written) {
			t.Fatalf("element %d is %v after writes up to %d", i, v, written)
		}
	}
}

// testNoAxes checks reductions over no axes, an empty list that is not nil, and over
// all, which nil means.
func testNoAxes(t *testing.T, s *suite) {
	none := []int{}
	for _, dt := range []gpk.DType{gpk.Float32, gpk.BFloat16, gpk.Complex64} {
		x := s.random(dt, 3, 5)
		a := x.array()
		for what, r := range map[string]*gpk.Array{"Sum": a.Sum(none...), "Mean": a.Mean(none...), "Prod": a.Prod(none...), "gpk.Sum": gpk.Sum(a, none...)} {
			equal(t, name(what, dt), read(t, r), x)
		}
	}
	x := s.random(gpk.Float32, 4, 3)
	a := x.array()
	equal(t, "Max", read(t, a.Max(none...)), x)
	equal(t, "Min", read(t, a.Min(none...)), x)
	equal(t, "Var", read(t, a.Var(none...)), read(t, gpk.Zeros(gpk.Float32, 4, 3)))
	equal(t, "Any", read(t, a.Any(none...)), read(t, a.Ne(0)))
	equal(t, "All", read(t, a.All(none...)), read(t, a.Ne(0)))
	equal(t, "a transposed view", read(t, a.T().Sum(none...)), transposed(x))
	equal(t, "a chain", read(t, a.Mul(2).Add(1).Sum(none...)), read(t, x.array().Mul(2).Add(1)))
	equal(t, "integers", read(t, gpk.Arange(gpk.Int32, 7).Sum(none...)), read(t, gpk.Arange(gpk.Int64, 7)))
	equal(t, "a number", read(t, gpk.Full(gpk.Float32, 2).Sum(none...)), read(t, gpk.Full(gpk.Float32, 2)))
	equal(t, "no elements", read(t, gpk.Zeros(gpk.Float32, 0, 3).Max(none...)), read(t, gpk.Zeros(gpk.Float32, 0, 3)))
	if shape := a.Sum().Shape(); len(shape) != 0 {
		t.Errorf("a sum over all axes has shape %v", shape)
	}
	if shape := a.Sum([]int(nil)...).Shape(); len(shape) != 0 {
		t.Errorf("a sum over nil has shape %v", shape)
	}
}
