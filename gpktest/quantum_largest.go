package gpktest

import (
	"context"
	"testing"
	"time"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/bytesize"
	"github.com/gpk-go/gpk/quantum"
)

// quantumHeadline runs 16 qubits and 20,000 samples in float64, with K copied to the
// host.
func (s *suite) quantumHeadline(t *testing.T) {
	const q, n = 16, 20000
	c, reference := s.entangler(q)
	flat, x := s.uniform(n, q)
	defer x.Free()
	for name, budget := range map[string]int64{"K from the device": 0, "K to the host as it comes": 23 << 30} {
		begun := time.Now()
		o := quantum.Options{Precision: quantum.Double, MemoryBudget: budget}
		r, err := quantum.Gram(context.Background(), c, x, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		k, err := gpk.ToSlice[float64](r.K)
		took := time.Since(begun)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %v, K on the host\n%v%v", name, took, r.Plan, r.Report)
		if len(k) != n*n || k[0] != 1 || k[n*n-1] != 1 || k[1] != k[n] {
			t.Errorf("%s: the corner of K is %v, %v, %v", name, k[0], k[1], k[n])
		}
		s.checkPairs(t, r.K, flat, q, reference, 32, 1e-12)
		r.K.Free()
	}
}

// quantumLargest runs 16 qubits and 80,000 samples in float64: 135 GB of states and
// result.
func (s *suite) quantumLargest(t *testing.T) {
	const q, n = 16, 80000
	free, _, err := s.dev.Memory()
	if err != nil {
		t.Fatal(err)
	}
	need := int64(n)*(16<<q) + 8*int64(n)*int64(n) + 3<<30
	if free+s.dev.Pool().Cached < need {
		t.Skipf("%s free, it takes %s", bytesize.Format(free), bytesize.Format(need))
	}
	c, reference := s.entangler(q)
	flat, x := s.uniform(n, q)
	defer x.Free()
	r, err := s.within(t, context.Background(), c, x, quantum.Options{Precision: quantum.Double, MemoryBudget: need})
	if err != nil {
		t.Fatal(err)
	}
	defer r.K.Free()
	if r.Plan.Keep != quantum.KeepAll || r.Plan.OnHost {
		t.Errorf("not in memory: %v", r.Plan)
	}
	s.checkPairs(t, r.K, flat, q, reference, 32, 1e-12)
}

// quantumAutotune: kernels that were chosen by timing them give the same kernel
// within its bound; the second call finds them chosen.
func (s *suite) quantumAutotune(t *testing.T) {
	const q, n = 10, 6000
	c, reference := s.entangler(q)
	flat, x := s.uniform(n, q)
	defer x.Free()
	for p, bound := range map[quantum.Precision]float64{quantum.Standard: 5e-6, quantum.Fast: 2e-3, quantum.Double: 1e-12} {
		for round := range 6 { // three as the model says, three tuned
			tuned := round >= 3
			r, err := s.within(t, context.Background(), c, x, quantum.Options{Precision: p, Path: quantum.General, Autotune: tuned, MemoryBudget: 4 << 30})
			if err != nil {
				t.Fatal(err)
			}
			s.checkPairs(t, r.K, flat, q, reference, 8, bound)
			t.Logf("%v, tuned %v: %v, product %v", p, tuned, r.Report.Total, r.Report.Product)
			r.K.Free()
		}
	}
}
