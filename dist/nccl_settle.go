package dist

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deferred"
)

// settle waits for errors of the operand that the GPU has not found yet, such as an index of Take outside its
// axis. Otherwise the other ranks would not be told. The errors of the group's own calls reach all ranks, so
// settle does not wait for them.
func (g *gpuComm) settle(b *device.Buffer) error {
	if b == nil {
		return nil
	}
	for _, e := range b.State().Deferred() {
		if g.owns(e) {
			continue
		}
		if err := e.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// owns reports whether e is the error of an open batch.
func (g *gpuComm) owns(e *deferred.Error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for b := range g.open {
		if b.err == e {
			return true
		}
	}
	return false
}
