package array

import "testing"

// must fails the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// isPending reports whether nothing has computed the array's contents into memory of
// their own.
func (a *Array) isPending() bool {
	s := schedulerOf(a.on())
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.st.cur.state() == pending
}

// node returns the node of the array's contents.
func (a *Array) node() *node { return a.st.cur.node }

// savedBytes returns the bytes that writes have saved on a device so far.
func (s *scheduler) savedBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.copied
}
