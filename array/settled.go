package array

// Settled reports whether all arrays are stored on one device and carry no error. It is false
// while the device may still report one, such as an index of Take outside its axis: everything
// computed from that array would fail. A package that computes the arrays of several callers
// together uses it, so that the error of one does not reach the others. Eval the arrays first.
func Settled(as ...*Array) bool {
	return storedTogether(as, func(m *memory) bool { return !m.buf.State().Uncertain() })
}

// storedTogether reports whether all arrays are stored on one device, can be read now, and
// have memories that satisfy a condition. It takes the scheduler's lock once.
func storedTogether(as []*Array, and func(*memory) bool) bool {
	if len(as) == 0 || check(as...) != nil {
		return false
	}
	s := as[0].lock()
	defer s.mu.Unlock()
	for _, a := range as {
		if a.on() != s.dev || !a.stored(and) {
			return false
		}
	}
	return true
}
