package layout

import "math"

// Range selects a part of an axis, as Python's slice does: Start, Start + Step, … before
// Stop. Negative Start and Stop count from the end of the axis, and bounds outside the axis
// are clipped.
type Range struct{ Start, Stop, Step int }

// End is an open end of a Range, or the stop of a Slice. For a positive Step it is the end of the axis. For a
// negative Step it is the last element as Start, and the position before the first as Stop.
const End = math.MaxInt

// Over returns the index of the first element of a range on an axis of length n, and the
// number of its elements. The step must not be 0.
func (r Range) Over(n int) (first, count int) {
	clip := func(i, least, most int) int {
		if i < 0 {
			i += n
		}
		return min(max(i, least), most)
	}
	if r.Step > 0 {
		first, stop := clip(r.Start, 0, n), clip(r.Stop, 0, n)
		if stop <= first {
			return first, 0
		}
		return first, (stop-first-1)/r.Step + 1
	}
	first = clip(r.Start, -1, n-1)
	stop := -1
	if r.Stop != End {
		stop = clip(r.Stop, -1, n-1)
	}
	if first <= stop {
		return max(first, 0), 0
	}
	// As uint, because the negative of the smallest int does not fit an int.
	return first, int(uint(first-stop-1)/-uint(r.Step)) + 1
}

// Indexed returns the layout of the part of an axis that a range selects. A step of 0 is
// ErrShape.
func (l Layout) Indexed(axis int, r Range) (Layout, error) {
	if r.Step == 0 {
		return Layout{}, Errorf("a range %d:%d with step 0", r.Start, r.Stop)
	}
	first, count := r.Over(l.Shape[axis])
	out := Layout{Shape: append([]int{}, l.Shape...), Strides: append([]int{}, l.Strides...), Offset: l.Offset}
	out.Shape[axis] = count
	if out.Size() > 0 { // an empty view keeps its offset, which stays inside the buffer
		out.Offset += first * l.Strides[axis]
	}
	if count > 1 {
		out.Strides[axis] *= r.Step
	}
	return out, nil
}
