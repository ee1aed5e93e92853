package gpktest

import (
	"math"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// testIndex compares Index with loops, and writes through the views.
func testIndex(t *testing.T, s *suite) {
	rounds := 60
	if quick() {
		rounds = 10
	}
	for range rounds {
		for _, dt := range allTypes {
			s.indexed(t, dt)
		}
	}
	x := gpk.Ones(gpk.Float32, 4, 6)
	for what, c := range map[string]struct {
		got  *gpk.Array
		want error
	}{
		"Index 4":                {x.Index(4), gpk.ErrShape},
		"Index -7":               {x.Index(gpk.All, -7), gpk.ErrShape},
		"Index of three":         {x.Index(0, gpk.All, gpk.All), gpk.ErrShape},
		"Index of nothing":       {gpk.Zeros(gpk.Int8, 0).Index(0), gpk.ErrShape},
		"Index with step 0":      {x.Index(gpk.Range(0, 3, 0)), gpk.ErrShape},
		"Index with two steps":   {gpk.Index(x, gpk.Range(0, 3, 1, 1)), gpk.ErrShape},
		"Index of a fraction":    {x.Index(1.5), gpk.ErrUnsupported},
		"Index of nil":           {x.Index(nil), gpk.ErrUnsupported},
		"Index of an array":      {x.Index(x), gpk.ErrUnsupported},
		"Index of a function":    {x.Index(gpk.Any), gpk.ErrUnsupported},
		"Index of a nil of All":  {x.Index((func(*gpk.Array, ...int) *gpk.Array)(nil)), gpk.ErrUnsupported},
		"Index of a nil pointer": {x.Index((*gpk.Array)(nil)), gpk.ErrUnsupported},
	} {
		s.refusedAs(t, what, "Index", []*gpk.Array{c.got}, c.want)
	}
}

// selection lists the indices that start:stop:step selects on an axis of n elements, by
// Python's rules; stop may be open.
func selection(n, start, stop, step int) []int {
	place := func(i int) int {
		if i < 0 {
			i += n
		}
		if step > 0 {
			return min(max(i, 0), n)
		}
		return min(max(i, -1), n-1)
	}
	end := place(stop)
	if stop == gpk.End && step < 0 {
		end = -1
	}
	var list []int
	for i := range n { // in ascending order
		if far := i - place(start); step > 0 && far >= 0 && far%step == 0 && i < end || step < 0 && far <= 0 && far%step == 0 && i > end {
			list = append(list, i)
		}
	}
	if step < 0 {
		slices.Reverse(list)
	}
	return list
}

func (s *suite) indexed(t *testing.T, dt gpk.DType) {
	x := s.random(dt, s.someShape(0)...)
	var args []any
	chosen, shape := make([][]int, len(x.shape)), []int{}
	for d, n := range x.shape {
		chosen[d] = selection(n, 0, gpk.End, 1)
		kind := s.rng.IntN(4)
		switch {
		case len(args) < d || kind == 0 && s.rng.IntN(2) == 0: // the rest is whole
		case kind == 0:
			args = append(args, gpk.All)
		case kind == 1 && n > 0:
			i := s.rng.IntN(n)
			args, chosen[d] = append(args, s.signed(i, n)), []int{i}
			continue
		default:
			ends := [2]int{}
			for i := range ends {
				ends[i] = s.rng.IntN(2*n+5) - n - 2
				switch s.rng.IntN(8) {
				case 0:
					ends[i] = gpk.End
				case 1:
					ends[i] = []int{math.MinInt, math.MaxInt - 1}[s.rng.IntN(2)]
				}
			}
			step := []int{1, 1, 2, 3, -1, -2, -3, 1 << 28, math.MinInt}[s.rng.IntN(9)]
			r := gpk.Range(ends[0], ends[1], step)
			if step == 1 && s.rng.IntN(2) == 0 {
				r = gpk.Range(ends[0], ends[1])
			}
			args, chosen[d] = append(args, r), selection(n, ends[0], ends[1], step)
		}
		shape = append(shape, len(chosen[d]))
	}
	from := func(ix []int) []int {
		out, k := make([]int, len(x.shape)), 0
		for d, list := range chosen {
			if _, whole := at0(args, d).(int); whole {
				out[d] = list[0]
				continue
			}
			out[d] = list[ix[k]]
			k++
		}
		return out
	}
	what := name("Index", dt, x.shape, args)
	equal(t, what, read(t, s.arranged(x).Index(args...)), x.gathered(shape, from))
	if dt == gpk.Bool || size(shape) == 0 {
		return
	}
	a := x.array()
	noError(t, a.Index(args...).CopyFrom(0))
	written := map[int]bool{}
	index(shape, func(ix []int) { written[at(x.shape, from(ix))] = true })
	equal(t, what+" written", read(t, a), x.masked(func(ix []int) bool { return !written[at(x.shape, ix)] }))
}

// at0 is element i of a list, nil behind its end.
func at0(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}
