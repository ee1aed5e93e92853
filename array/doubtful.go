package array

// Doubtful reports whether the stored elements of an array depend on a check that runs on
// the device and has not been read yet, such as that of an index of Take. Results computed
// from the array fail with it. A package that computes several callers' arrays together
// asks, so that the error of one does not reach the others. Eval the array first: for a
// pending array the answer is false.
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
