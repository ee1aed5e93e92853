package cpu

import "unsafe"

// shortAxis is the length of an innermost axis below which the elements are visited along another axis, because a
// call for a few elements takes longer than gathering strided ones.
const shortAxis = 8

// longAxis returns the axis along which a nest with a short innermost axis is visited.
func (t *nest) longAxis() (axis int, ok bool) {
	last := len(t.axes) - 1
	if t.n == 0 || t.axes[last].n >= shortAxis {
		return 0, false
	}
	for d := last - 1; d >= 0; d-- {
		if t.axes[d].n >= 8*shortAxis {
			return d, true
		}
	}
	return 0, false
}

// runAlong visits the nest in stretches of the axis long. In each stretch it visits all positions of the
// innermost axis, so that a stretch of both axes stays in the first-level cache.
func (t *nest) runAlong(long int, f func(s span, w *work)) {
	inner, outer := t.axes[len(t.axes)-1], t.axes[long]
	rest := nest{ops: t.ops, n: 1, p: t.p}
	for d, a := range t.axes[:len(t.axes)-1] {
		if d != long {
			rest.axes = append(rest.axes, a)
			rest.n *= a.n
		}
	}
	stretches := (outer.n-1)/blockLen + 1
	part := t.part
	if part == 0 {
		part = minPart
	}
	Parallel(rest.n*stretches, max(1, part/(inner.n*min(outer.n, blockLen))), func(lo, hi int) {
		w := works.Get().(*work)
		defer works.Put(w)
		for i := lo; i < hi; i++ {
			at := i % stretches * blockLen
			s := span{n: min(blockLen, outer.n-at), p: rest.at(i / stretches), step: outer.step}
			for j := range t.ops {
				s.p[j] = unsafe.Add(s.p[j], at*outer.step[j])
			}
			for k := range inner.n {
				f(s, w)
				if k < inner.n-1 { // a pointer must not point after the last element
					for j := range t.ops {
						s.p[j] = unsafe.Add(s.p[j], inner.step[j])
					}
				}
			}
		}
		t.fence()
	})
}
