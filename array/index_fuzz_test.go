package array

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/indextest"
	"github.com/gpk-go/gpk/layout"
)

// extreme makes a number of a byte of a script: mostly small, some as far out as
// an int goes.
func (s *script) extreme() int {
	switch b := s.pick(256); b {
	case 255:
		return math.MaxInt
	case 254:
		return math.MinInt
	case 253:
		return math.MaxInt / 2
	case 252:
		return math.MaxInt32
	default:
		return b%17 - 8
	}
}

// FuzzIndexing calls Slice, Take, Repeat, Pad, Flip, Sort and TopK with any arguments.
// The result is an error with the reason, or the elements that plain loops compute.
func FuzzIndexing(f *testing.F) {
	for op := range byte(7) {
		for b := range byte(8) {
			f.Add([]byte{2, 3, 4, op, b, b + 3, 9, 2 * b, 7, 1})
		}
		f.Add([]byte{2, 3, 4, op, 255, 254, 253, 252})
		f.Add([]byte{2, 3, 0, op, 8, 9, 10, 11})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cpu, err := device.Open("cpu")
		if err != nil {
			t.Fatal(err)
		}
		defer device.SetDefault(device.SetDefault(cpu))
		s := script(data)
		shape := s.shape()
		n := indextest.Size(shape)
		x := make([]int32, n)
		for i := range x {
			x[i] = int32(i*7919%23 - 11)
		}
		a := FromSlice(x, shape...)
		// axis resolves an axis; wrong says that there is an error to be.
		axis := func(d int) (int, bool) {
			if d < 0 {
				d += len(shape)
			}
			return d, d >= 0 && d < len(shape)
		}
		check := func(r *Array, ok bool, wantShape []int, from func(ix []int) (int32, bool)) {
			t.Helper()
			got, err := ToSlice[int32](r)
			if !ok {
				if !errors.Is(err, layout.ErrShape) {
					t.Fatalf("%v, shape %v: %v", data, shape, err)
				}
				return
			}
			if err != nil || !slices.Equal(r.Shape(), wantShape) {
				t.Fatalf("%v, shape %v: %v, shape %v, want %v", data, shape, err, r.Shape(), wantShape)
			}
			for i, v := range got {
				if w, known := from(indextest.Unravel(wantShape, i)); known && v != w {
					t.Fatalf("%v, shape %v: element %d is %d, want %d", data, shape, i, v, w)
				}
			}
		}
		at := func(ix []int) int32 { return x[indextest.Number(shape, ix)] }
		with := func(ix []int, d, i int) []int {
			ix = slices.Clone(ix)
			ix[d] = i
			return ix
		}
		switch op, given := s.pick(7), s.extreme(); op {
		case 0:
			d, ok := axis(given)
			start, stop, step := s.extreme(), s.extreme(), s.extreme()
			var keep []int
			if ok {
				keep, ok = sliced(shape[d], start, stop, step)
			}
			want := slices.Clone(shape)
			if ok {
				want[d] = len(keep)
			}
			check(a.Slice(given, start, stop, step), ok, want, func(ix []int) (int32, bool) { return at(with(ix, d, keep[ix[d]])), true })
		case 1:
			d, ok := axis(given)
			indices := make([]int64, s.pick(5))
			for i := range indices {
				indices[i] = int64(s.extreme())
				if ok && (indices[i] >= int64(shape[d]) || indices[i] < -int64(shape[d])) {
					ok = false
				}
			}
			want := slices.Clone(shape)
			if ok {
				want[d] = len(indices)
			}
			if len(indices) == 0 {
				_, ok = axis(given)
			}
			check(Take(a, FromSlice(indices), given), ok, want, func(ix []int) (int32, bool) {
				i := int(indices[ix[d]])
				if i < 0 {
					i += shape[d]
				}
				return at(with(ix, d, i)), true
			})
		case 2:
			d, ok := axis(given)
			times := s.extreme()
			ok = ok && times >= 0
			if ok && times > 100 && n > 0 {
				return // the result would be as large as times says
			}
			want := slices.Clone(shape)
			if ok && times > 100 {
				_ = a.Repeat(times, given).Err() // a has no elements; the axis becomes long, or too long
				return
			}
			if ok {
				want[d] *= times
			}
			check(a.Repeat(times, given), ok, want, func(ix []int) (int32, bool) { return at(with(ix, d, ix[d]/times)), true })
		case 3:
			widths := make([][2]int, s.pick(4))
			ok, large := len(widths) == len(shape), false
			want := slices.Clone(shape)
			for d := range widths {
				widths[d] = [2]int{s.extreme(), s.extreme()}
				large = large || max(widths[d][0], widths[d][1]) > 100
				ok = ok && widths[d][0] >= 0 && widths[d][1] >= 0
				if ok {
					want[d] += widths[d][0] + widths[d][1]
				}
			}
			r := a.Pad(widths, given%100)
			if ok && large {
				_ = r.Err()
				return
			}
			check(r, ok, want, func(ix []int) (int32, bool) {
				ix = slices.Clone(ix)
				for d := range ix {
					if ix[d] -= widths[d][0]; ix[d] < 0 || ix[d] >= shape[d] {
						return int32(given % 100), true
					}
				}
				return at(ix), true
			})
		case 4:
			d, ok := axis(given)
			check(a.Flip(given), ok, shape, func(ix []int) (int32, bool) { return at(with(ix, d, shape[d]-1-ix[d])), true })
		case 5:
			d, ok := axis(given)
			falling := s.flip()
			check(a.Sort(given, falling), ok, shape, func(ix []int) (int32, bool) {
				line := make([]int32, shape[d])
				for i := range line {
					line[i] = at(with(ix, d, i))
				}
				slices.Sort(line)
				if falling {
					slices.Reverse(line)
				}
				return line[ix[d]], true
			})
		case 6:
			d, ok := axis(given)
			k := s.extreme()
			ok = ok && k >= 0 && k <= shape[d]
			want := slices.Clone(shape)
			if ok {
				want[d] = k
			}
			values, places := a.TopK(k, given)
			check(values, ok, want, func(ix []int) (int32, bool) {
				line := make([]int32, shape[d])
				for i := range line {
					line[i] = at(with(ix, d, i))
				}
				slices.Sort(line)
				return line[len(line)-1-ix[d]], true
			})
			check(Take(a.Reshape(-1), places, 0).Mul(0), ok, want, func([]int) (int32, bool) { return 0, true })
		}
	})
}

// sliced returns the places that a slice of an axis keeps, and whether its bounds lie on
// the axis.
func sliced(n, start, stop, step int) (keep []int, ok bool) {
	anywhere := n == 0 && step < 0 // where a slice of nothing begins does not matter
	if step == 0 || (start < -n || start > n) && !anywhere || stop < -n-1 || stop > n {
		return nil, false
	}
	if start < 0 {
		start += n
	}
	if stop < 0 {
		stop += n
	}
	if step > 0 {
		if stop < 0 {
			return nil, false
		}
		for i := start; i < stop; {
			keep = append(keep, i)
			if i > n-step || i > math.MaxInt-step {
				break
			}
			i += step
		}
		return keep, true
	}
	if n > 0 && (start >= n || stop >= n) || n == 0 && (stop > 0 || stop < -1) {
		return nil, false
	}
	for i := start; n > 0 && i > stop; {
		keep = append(keep, i)
		if i < -step || step == math.MinInt {
			break
		}
		i += step
	}
	return keep, true
}
