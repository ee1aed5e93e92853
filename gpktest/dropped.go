package gpktest

import (
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// testDropped computes arrays whose work checks its operands on the device, and drops them without a read. An
// error that no call waits for must not keep the memory.
func testDropped(t *testing.T, s *suite) {
	const n = 1 << 12
	x, table := s.random(gpk.Float32, n).array(), s.random(gpk.Float32, n, 64).array()
	ids := s.indices(t, n, n)
	half := s.random(gpk.Float16, 2, n, 64).array()
	for name, f := range map[string]func() []*gpk.Array{
		"Take":          func() []*gpk.Array { return []*gpk.Array{gpk.Take(x, ids, 0)} },
		"TakeAlongAxis": func() []*gpk.Array { return []*gpk.Array{x.TakeAlongAxis(ids, 0)} },
		"IndexSelect":   func() []*gpk.Array { return []*gpk.Array{table.IndexSelect(ids, 0)} },
		"ScatterMax":    func() []*gpk.Array { return []*gpk.Array{x.ScatterMax(ids, x, 0)} },
		"ScatterAdd":    func() []*gpk.Array { return []*gpk.Array{x.ScatterAdd(ids, x, 0)} },
		"PutAlongAxis":  func() []*gpk.Array { return []*gpk.Array{x.PutAlongAxis(ids, x, 0)} },
		"UniqueAll": func() []*gpk.Array {
			values, indices, inverse, counts := ids.UniqueAll()
			return []*gpk.Array{values, indices, inverse, counts}
		},
		"EmbeddingNorm": func() []*gpk.Array {
			return []*gpk.Array{gpk.EmbeddingNorm([]*gpk.Array{table}, []*gpk.Array{ids}, nil, nil, 1e-5)}
		},
		"RaggedPool": func() []*gpk.Array {
			return []*gpk.Array{gpk.RaggedPool(table, offsetsOf(0, 5, n), gpk.RaggedPoolOptions{})}
		},
		"Attention": func() []*gpk.Array {
			return []*gpk.Array{gpk.Attention(half, half, half, gpk.AttentionOptions{Offsets: offsetsOf(0, 100, n)})}
		},
		"a sum of Take": func() []*gpk.Array { return []*gpk.Array{gpk.Take(x, ids, 0).Sum()} },
	} {
		t.Run(name, func(t *testing.T) {
			drop := func() { noError(t, gpk.Eval(f()...)) }
			drop() // the first call may keep memory of its kernels
			noError(t, s.dev.Synchronize(t.Context()))
			settle(t, s)
			before, mark := s.dev.Pool().InUse, s.dev.Buffers()
			for range 3 {
				drop()
			}
			s.nothingLeft(t, before, mark)
		})
	}
}

// indices are n random indices below limit, stored.
func (s *suite) indices(t *testing.T, n, limit int) *gpk.Array {
	t.Helper()
	list := make([]int64, n)
	for i := range list {
		list[i] = s.rng.Int64N(int64(limit))
	}
	a := gpk.FromSlice(list)
	noError(t, gpk.Eval(a))
	return a
}
