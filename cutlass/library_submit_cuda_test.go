//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

import (
	"errors"
	"math"
	"reflect"
	"runtime"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/submit"
)

// TestSubmitted checks that every argument arrives at its place by way of a queue,
// that the first call of a kind is made at once, and what a refusal of a later one
// says.
func TestSubmitted(t *testing.T) {
	lib := openFake(t)
	q := submit.New(submit.Always)
	defer q.Close()
	unmade := errors.New("a call before it failed")
	s := lib.Submit(q, func() error {
		if q.Failed() {
			return unmade
		}
		return nil
	})
	record := make([]int64, 48)
	stream := uint64(uintptr(unsafe.Pointer(&record[0])))
	defer runtime.KeepAlive(record)
	f := func(x float64) int64 { return int64(math.Float64bits(x)) }
	d := func(n int) []int { return []int{99, 98, 97, 96, 95, 94, 93, n} } // the record keeps the last of eight
	for number, c := range []entryCall{
		{"gpk_gemm", func(code int) error {
			return s.Gemm(code, stream, 1, numbered)
		}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, f(17.5), f(18.5), 19, 20, 21, 22, int64(GuardMisses), 24, 25, 26, 27, 28}},
		{"gpk_unary", func(code int) error {
			return s.Unary(code, stream, expr.GELU, dtype.Float16, dtype.Float32, d(4), 5, d(6), 7, d(8))
		}, []int64{int64(expr.GELU), 3, 1, 8, 4, 5, 6, 7, 8}},
		{"gpk_binary", func(code int) error {
			return s.Binary(code, stream, expr.Add, dtype.Float16, dtype.Bool, d(4), 5, d(6), 7, d(8), 9, 10, 11, d(12))
		}, []int64{int64(expr.Add), 3, 9, 8, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{"gpk_cast", func(code int) error {
			return s.Cast(code, stream, dtype.Int64, dtype.Int8, d(3), 4, d(5), 6, d(7))
		}, []int64{8, 5, 8, 3, 4, 5, 6, 7}},
		{"gpk_pad", func(code int) error {
			return s.Pad(code, stream, dtype.Float16, numberedPads[0], numberedPads[1])
		}, []int64{3, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
		{"gpk_embed_norm", func(code int) error {
			e := numberedEmbedNorm
			return s.EmbedNorm(code, stream, &e)
		}, []int64{1, 1, 2, 3, 4, 5, 6, 7, 8, 0, 9, 10, 11, 12, 13, 14, f(15.5), 3, 2, 2}},
		{"gpk_pool", func(code int) error {
			p := numberedPool
			return s.Pool(code, stream, &p)
		}, []int64{1, 1, 2, 3, 4, 5, 6, 7, 8, 2, 0, 1}},
		{"gpk_norm_residual", func(code int) error {
			r := numberedNormResidual
			return s.NormResidual(code, stream, &r)
		}, []int64{1, 1, 2, 3, 4, 5, 6, 7, 8, 9, f(10.5), 3}},
		{"gpk_attention", func(code int) error {
			a := numberedAttention
			return s.Attention(code, stream, &a)
		}, []int64{
			1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 22, 23, 24, 25, 0, 36, 26, 27, 28, 29, 30, 31, 32, f(33.5),
			34, 35, 3, 1, 0, 1,
		}},
	} {
		var refused *Error
		if err := c.call(10001); !errors.As(err, &refused) || refused.Entry != c.entry || !errors.Is(err, expr.ErrUnsupported) {
			t.Errorf("%s: the first call of a kind that is refused: %v", c.entry, err)
		}
		for i, queued := range []uint64{0, 1} {
			for i := range record {
				record[i] = -1 << 40
			}
			before := q.Calls()
			q.Ready()
			if err := c.call(0); err != nil {
				t.Errorf("%s: %v", c.entry, err)
			}
			if n := q.Calls() - before; n != queued {
				t.Errorf("%s: call %d: %d were queued", c.entry, i, n)
			}
			q.Drain()
			if got := record[:len(c.want)]; !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s received %v, want %v", c.entry, got, c.want)
			}
		}
		q.Ready()
		if err := c.call(10001); err != nil {
			t.Errorf("%s: a queued call that is refused: %v", c.entry, err)
		}
		q.Drain()
		record[0] = -1 << 40
		op := []expr.Op{expr.Exp, expr.Log, expr.Sin, expr.Cos, expr.Tanh, expr.Sqrt, expr.Square, expr.Erf, expr.Sigmoid}[number] // new every time
		if err := s.Unary(0, stream, op, dtype.Float32, dtype.Float32, d(4), 5, d(6), 7, d(8)); !errors.Is(err, unmade) || record[0] != -1<<40 {
			t.Errorf("%s: the first call of a kind behind it: %v; it was made with %v", c.entry, err, record[0])
		}
		failure := q.Take()
		if failure == nil || failure.Code != 10001 {
			t.Fatalf("%s: %+v", c.entry, failure)
		}
		if err := s.Failure(failure.Function, failure.Code); !errors.As(err, &refused) || refused.Entry != c.entry {
			t.Errorf("%s: %v", c.entry, err)
		}
	}
	if err := s.Cast(0, stream, dtype.Int64, dtype.Int8, d(3), 4, d(5)[:2], 6, d(7)); err == nil {
		t.Error("two strides for eight dimensions")
	}
}
