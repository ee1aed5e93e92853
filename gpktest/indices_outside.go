package gpktest

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// outside checks that an index outside the axis is an error at the next boundary. The
// error names the index and the line of the program, and nothing is written.
func (s *suite) outside(t *testing.T) {
	for _, bad := range []int64{5, -6, math.MaxInt32, math.MinInt32, 1 << 40, math.MaxInt64, math.MinInt64} {
		dt := gpk.Int64
		if int64(int32(bad)) == bad && s.rng.IntN(2) == 0 {
			dt = gpk.Int32
		}
		x := s.random(gpk.Float32, 5, 33)
		indices := s.indicesInto(dt, 5, 400)
		indices.ints[s.rng.IntN(400)] = bad
		ix := indices.array()
		_, file, _, _ := runtime.Caller(0)
		check := func(what string, err error) {
			t.Helper()
			var oe *gpk.OpError
			switch {
			case !errors.Is(err, gpk.ErrShape):
				t.Errorf("index %d, %s: %v", bad, what, err)
			case !errors.As(err, &oe) || oe.Op != "Take" || !strings.Contains(oe.Site, file[strings.LastIndex(file, "/")+1:]):
				t.Errorf("index %d, %s: not the error of Take here: %v", bad, what, err)
			case !strings.Contains(err.Error(), fmt.Sprintf("index %d ", bad)) || fmt.Sprint(oe.Shapes) != "[[5 33] [400]]":
				t.Errorf("index %d, %s: the error does not name it: %v", bad, what, err)
			}
		}
		take := func() *gpk.Array { return gpk.Take(x.array(), ix, 0) }
		_, err := gpk.ToSlice[float32](take())
		check("read", err)
		_, err = gpk.ToSlice[float32](take().Add(1).Slice(0, 0, 1))
		check("a view of a sum", err)
		_, err = gpk.Item[float32](take().Exp().Sum())
		check("a reduction", err)
		r := take()
		_ = gpk.Eval(r)
		_, err = gpk.ToSlice[float32](r.T().Mul(2))
		check("after Eval", err)
		_, err = gpk.ToSlice[float32](r)
		check("again", err)

		// Nothing that was there before is written.
		before := s.random(gpk.Float32, 400, 33)
		intact := func(what string, a *gpk.Array) {
			t.Helper()
			equal(t, fmt.Sprintf("index %d, %s", bad, what), read(t, a), before)
		}
		base := before.array()
		whole := base.Slice(0, 0, 400)
		for _, write := range []struct {
			what string
			f    func() error
		}{
			{"Into", func() error { return gpk.Into(base, take()) }},
			{"Into of a chain", func() error { return gpk.Into(base, take().Add(1).Mul(before.array())) }},
			{"AddInPlace", func() error { return base.AddInPlace(take().Mul(2)) }},
			{"CopyFrom", func() error { return base.CopyFrom(take()) }},
		} {
			// A whole write carries the error until the next one.
			kept := base.Mul(1)
			if err := write.f(); err != nil {
				t.Errorf("index %d, %s returns what the next boundary answers: %v", bad, write.what, err)
			}
			for _, a := range []*gpk.Array{base, whole, base.Add(1)} {
				_, err := gpk.ToSlice[float32](a)
				check(write.what, err)
			}
			intact(write.what+", of what was read before", kept)
			if err := base.CopyFrom(before.array()); err != nil {
				t.Errorf("index %d, %s: overwriting: %v", bad, write.what, err)
			}
			intact(write.what+", overwritten", base)
		}
		part := before.array()
		rows := part.Slice(0, 3, 8)
		check("CopyFrom to a part", rows.CopyFrom(take().Slice(0, 0, 5)))
		intact("CopyFrom to a part", part)
		check("AddInPlace to a part", rows.AddInPlace(take().Mul(2).Slice(0, 0, 5)))
		intact("AddInPlace to a part", part)
		check("Into a part", gpk.Into(rows, take().Slice(0, 0, 5)))
		intact("Into a part", part)
		if _, err := part.Buffer(); err != nil { // the memory is fixed
			t.Fatal(err)
		}
		check("CopyFrom to fixed memory", part.CopyFrom(take()))
		intact("CopyFrom to fixed memory", part)

		// The failed result itself may be overwritten as a whole if it has memory.
		r = take()
		if err := gpk.Into(r, before.array()); err != nil {
			check("into the result", err)
		} else {
			intact("into the result", r)
		}
	}
	// Valid indices neither make later calls wait nor leave state behind.
	x, ix := s.random(gpk.Float32, 50, 8), s.indicesInto(gpk.Int64, 50, 20)
	want := taken(x, ix, 0)
	a := gpk.Zeros(gpk.Float32, 20, 8)
	for range 100 {
		noError(t, a.CopyFrom(gpk.Take(x.array(), ix.array(), 0)))
	}
	equal(t, "CopyFrom", read(t, a), want)
	b := x.array()
	all := gpk.Arange(gpk.Int32, 50)
	for range 100 {
		b = gpk.Take(b, all, 0)
	}
	equal(t, "a chain of 100", read(t, b), x)
}
