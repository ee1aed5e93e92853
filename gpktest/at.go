package gpktest

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// testAt compares At, TakeAlongAxis and Where of numbers with loops.
func testAt(t *testing.T, s *suite) {
	for range rounds(30, 6) {
		for _, dt := range allTypes {
			s.at(t, dt)
			s.takenAlong(t, dt)
		}
	}
	s.whereNumbers(t)
	s.atErrors(t)
}

func (s *suite) at(t *testing.T, dt gpk.DType) {
	x := s.random(dt, s.someShape(0)...)
	var ix, args []int
	for d := range s.rng.IntN(len(x.shape) + 1) {
		n := x.shape[d]
		if n == 0 {
			break
		}
		ix = append(ix, s.rng.IntN(n))
		args = append(args, s.signed(ix[d], n))
	}
	got := s.arranged(x).At(args...)
	equal(t, name("At", dt, x.shape, args), read(t, got), x.gathered(x.shape[len(ix):], func(to []int) []int { return slices.Concat(ix, to) }))
	// Index returns a view, so writes through it change x.
	a := x.array()
	if dt == gpk.Bool || len(ix) == 0 || size(x.shape) == 0 {
		return
	}
	if err := gpk.Into(a.At(args...), gpk.Zeros(dt, x.shape[len(ix):]...)); err != nil {
		t.Fatal(err)
	}
	equal(t, name("At, written", dt, x.shape, args), read(t, a), x.masked(func(to []int) bool { return !slices.Equal(to[:len(ix)], ix) }))
}

func (s *suite) takenAlong(t *testing.T, dt gpk.DType) {
	x := s.random(dt, s.someShape(1)...)
	rank := len(x.shape)
	d := s.rng.IntN(rank)
	if x.shape[d] == 0 {
		return
	}
	shape := slices.Clone(x.shape)
	shape[d] = s.rng.IntN(5)
	of := slices.Clone(shape)
	for i := range of {
		if i != d && s.rng.IntN(3) == 0 {
			of[i] = 1
		}
	}
	narrow := slices.Clone(x.shape)
	for i := range narrow { // the array is broadcast too
		if i != d && of[i] == shape[i] && narrow[i] != 0 && s.rng.IntN(3) == 0 {
			narrow[i] = 1
		}
	}
	x = s.random(dt, narrow...)
	ix := s.indicesInto([]gpk.DType{gpk.Int32, gpk.Int64}[s.rng.IntN(2)], x.shape[d], of...)
	got := evaluate(t, s.arranged(x).TakeAlongAxis(s.arranged(ix), s.signed(d, rank)))
	equal(t, name("TakeAlongAxis", dt, x.shape, of, d), got, x.gathered(shape, func(to []int) []int {
		from, from2 := slices.Clone(to), slices.Clone(to)
		for i := range to {
			if of[i] == 1 && i != d {
				from[i] = 0
			}
			if x.shape[i] == 1 {
				from2[i] = 0
			}
		}
		i := int(ix.ints[at(ix.shape, from)])
		from2[d] = (i + x.shape[d]) % x.shape[d]
		return from2
	}))
	if dt.IsComplex() || size(x.shape) == 0 {
		return
	}
	a := s.arranged(x)
	best := gpk.ArgMax(a, d, gpk.KeepDims)
	equal(t, name("TakeAlongAxis of ArgMax", dt, x.shape, d), read(t, a.TakeAlongAxis(best, d)), read(t, a.Max(d, gpk.KeepDims)))
}

func (s *suite) whereNumbers(t *testing.T) {
	c := s.random(gpk.Bool, 5, 1, 3)
	for _, n := range []struct {
		x, y any
		dt   gpk.DType
	}{
		{1, 0, gpk.Int64},
		{1.5, 0, gpk.Float64},
		{1, float32(2.5), gpk.Float32},
		{int8(3), int8(4), gpk.Int8},
		{true, false, gpk.Bool},
		{1i, 2, gpk.Complex128},
		{uint16(7), 8, gpk.Uint16},
		{uint64(1) << 63, 8, gpk.Uint64},
		{uint(1) << 31, 8, gpk.Uint64},
	} {
		want := read(t, gpk.Where(c.array(), gpk.Full(n.dt, n.x), gpk.Full(n.dt, n.y)))
		equal(t, name("Where", n.x, n.y), evaluate(t, gpk.Where(s.arranged(c), n.x, n.y)), want)
		if want.dt != n.dt {
			t.Errorf("Where of %v and %v is %v, want %v", n.x, n.y, want.dt, n.dt)
		}
	}
}

func (s *suite) atErrors(t *testing.T) {
	x, yes := gpk.Ones(gpk.Float32, 4, 6), gpk.Ones(gpk.Bool, 2)
	for what, c := range map[string]struct {
		op   string
		got  *gpk.Array
		want error
	}{
		"At 4":                       {"At", x.At(4), gpk.ErrShape},
		"At -5":                      {"At", x.At(-5), gpk.ErrShape},
		"At of three":                {"At", x.At(0, 0, 0), gpk.ErrShape},
		"At of nothing":              {"At", gpk.At(gpk.Zeros(gpk.Int8, 0), 0), gpk.ErrShape},
		"TakeAlongAxis of floats":    {"TakeAlongAxis", x.TakeAlongAxis(x, 0), gpk.ErrDType},
		"TakeAlongAxis of one axis":  {"TakeAlongAxis", x.TakeAlongAxis(gpk.Zeros(gpk.Int64, 4), 0), gpk.ErrShape},
		"TakeAlongAxis of axis 2":    {"TakeAlongAxis", x.TakeAlongAxis(gpk.Zeros(gpk.Int64, 4, 6), 2), gpk.ErrShape},
		"TakeAlongAxis, other axes":  {"TakeAlongAxis", x.TakeAlongAxis(gpk.Zeros(gpk.Int64, 3, 1), 1), gpk.ErrShape},
		"TakeAlongAxis from nothing": {"TakeAlongAxis", gpk.Zeros(gpk.Int8, 0).TakeAlongAxis(gpk.Zeros(gpk.Int64, 2), 0), gpk.ErrShape},
		"Where of two types":         {"Where", gpk.Where(yes, 1.5, float32(1)), gpk.ErrDType},
		"Where of a text":            {"Where", gpk.Where(yes, "1", 0), gpk.ErrDType},
		"Where of a fraction":        {"Where", gpk.Where(yes, int8(1), 300), gpk.ErrDType},
		"Where of no condition":      {"Where", gpk.Where(x, 1, 0), gpk.ErrDType},
		"Where of nil":               {"Where", gpk.Where(nil, 1, 0), gpk.ErrShape},
	} {
		s.refusedAs(t, what, c.op, []*gpk.Array{c.got}, c.want)
	}
	// An index outside its axis is found when the kernel runs; the error names the index.
	for _, i := range []int64{6, -7, 1 << 62, -1 << 62} {
		ix := gpk.Zeros(gpk.Int64, 4, 2)
		if err := ix.At(3, 1).CopyFrom(i); err != nil {
			t.Fatal(err)
		}
		_, err := gpk.ToSlice[float32](x.TakeAlongAxis(ix, 1))
		var oe *gpk.OpError
		if !errors.Is(err, gpk.ErrShape) || !errors.As(err, &oe) || oe.Op != "TakeAlongAxis" || !strings.Contains(err.Error(), "axis 1, which has length 6") {
			t.Errorf("index %d of 6: %v", i, err)
		}
	}
}

// testIndex compares Index with loops, and writes through the views.
func testIndex(t *testing.T, s *suite) {
	for range rounds(60, 10) {
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

// at0 returns element i of a list, or nil if the list is shorter.
func at0(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}
