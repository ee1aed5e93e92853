package dist

import (
	"net"
	"testing"
	"time"
)

// TestReleaseUnjoined checks the cleanup after a Join that failed under MPI: rank 0 no longer
// listens, and MPI is not finalized, because that would wait for the other ranks.
func TestReleaseUnjoined(t *testing.T) {
	o, err := optionsOf(nil)
	if err != nil {
		t.Fatal(err)
	}
	g := &Group{close: []func() error{func() error { t.Error("MPI is finalized"); return nil }}}
	i := g.invite(t.Context(), o, place{size: 2, localSize: 2})
	if i.Error != "" {
		t.Fatal(i.Error)
	}
	if err := g.release(); err != nil {
		t.Error(err)
	}
	if c, err := net.DialTimeout("tcp", i.Address, 5*time.Second); err == nil {
		_ = c.Close()
		t.Error("rank 0 still listens at", i.Address)
	}
}
