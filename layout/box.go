package layout

// Box is the range of indices that a view covers along each axis.
type Box struct{ Low, High [maxBox]int }

// maxBox is the largest number of axes of a Box.
const maxBox = 8

// BoxOf returns the box of a view of the dense layout whole. It reports false if an axis of
// the view does not step along a single axis of whole.
func BoxOf(view, whole *Layout) (b Box, ok bool) {
	if len(whole.Shape) > maxBox || view.Offset < 0 {
		return b, false
	}
	rest := view.Offset
	for d, n := range whole.Shape {
		if n > 1 {
			b.Low[d] = rest / whole.Strides[d]
			rest %= whole.Strides[d]
		}
		b.High[d] = b.Low[d] + 1
	}
	for i, n := range view.Shape {
		if n <= 1 || view.Strides[i] == 0 {
			continue
		}
		d, k := stepAlong(*whole, view.Strides[i], n)
		if d < 0 {
			return b, false
		}
		b.Low[d] += min(k*(n-1), 0)
		b.High[d] += max(k*(n-1), 0)
	}
	for d, n := range whole.Shape {
		if b.Low[d] < 0 || b.High[d] > n {
			return b, false
		}
	}
	return b, true
}

// Meets reports whether two boxes of n axes have an index in common.
func (b *Box) Meets(c *Box, n int) bool {
	for d := range n {
		if b.Low[d] >= c.High[d] || c.Low[d] >= b.High[d] {
			return false
		}
	}
	return true
}
