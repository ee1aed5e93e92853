package array

// Doubtful reports whether the stored elements of an array depend on an error that only
// the device finds, as an index of Take that is out of range, and that it has not told
// yet. What is computed from the array fails with it. Packages that compute several
// callers' arrays together ask, so that one's error does not reach the others. Eval the
// array first: while it is pending the answer is false.
func Doubtful(a *Array) bool {
	if a.check() != nil {
		return false
	}
	s := schedulerOf(a.on())
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := a.contents(a.st.rec)
	return err == nil && c.mem != nil && c.mem.buf.State().Uncertain()
}
