package layout

// Within returns an error if a layout reaches outside n elements, or if the numbers of
// strides and axes differ.
func (l Layout) Within(n int) error {
	if len(l.Strides) != len(l.Shape) {
		return Errorf("%d strides for %v", len(l.Strides), l.Shape)
	}
	size, err := Size(l.Shape)
	if err != nil {
		return err
	}
	if size == 0 {
		return nil
	}
	outside := Errorf("%v with strides %v from element %d on reaches outside the buffer's %d elements", l.Shape, l.Strides, l.Offset, n)
	if l.Offset < 0 || l.Offset >= n {
		return outside
	}
	for i, d := range l.Shape { // before Span multiplies them, which may overflow
		if s := l.Strides[i]; d > 1 && (s > n/(d-1) || s < -n/(d-1)) {
			return outside
		}
	}
	if lo, hi := l.Span(); lo < 0 || hi > n {
		return outside
	}
	return nil
}
