//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

import (
	"errors"
	"reflect"
	"runtime"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/submit"
)

// TestSubmitted checks that every argument of a queued call arrives at its place, that
// the first call of a kind is made at once, and the error if a later call fails.
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
	d := func(n int) []int { return []int{99, 98, 97, 96, 95, 94, 93, n} } // the record keeps the last of eight
	for number, c := range commonCalls(s, stream, d) {
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
		op := []expr.Op{expr.Exp, expr.Log, expr.Sin, expr.Cos, expr.Tanh, expr.Sqrt, expr.Square, expr.Erf, expr.Sigmoid, expr.Log1p, expr.Expm1, expr.Tan, expr.Sinh}[number] // new every time
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
