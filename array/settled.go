package array

import "github.com/gpk-go/gpk/device"

// Settled reports whether all arrays are stored on one device, and none carries an error or
// depends on a check that runs on the device and has not been read yet, such as that of an
// index of Take. If that check fails, results computed from the array fail too. A package
// that computes several callers' arrays together uses it to keep the error of one from the
// others. Eval the arrays first.
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
		if a.on() != s.dev {
			return false
		}
		c, err := a.contents(recordingOn(a.stream))
		if err != nil || c.err() != nil || c.mem == nil || c.mem.busy || c.lost(&device.View{DType: a.dt, Layout: a.lay}) || !and(c.mem) {
			return false
		}
	}
	return true
}
