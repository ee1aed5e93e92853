package device

// newFake returns a device for tests that has the given info and capabilities, computes
// nothing, and has its memory on the host. Planning, ordering and accounting can be tested
// with it without a GPU. Its Library is nil, and Open and List do not know it. Operations
// take it for a working GPU or CPU; nothing checks that it is not one.
func newFake(info Info, c Capabilities) *Device {
	d, err := newDevice(info, &fakeBackend{}, nil, &ranges{}, newCollector(), 0)
	if err != nil {
		return brokenDevice(info.label(), err)
	}
	d.caps = c
	return d
}

// fakeBackend is the host's memory with graphs that do nothing.
type fakeBackend struct{ hostBackend }

// alloc returns memory of Go, which lives as long as the device.
func (*fakeBackend) alloc(n int64) (memory, error) { return heapMemory(n) }

func (f *fakeBackend) next() (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.handle(), nil
}

func (*fakeBackend) beginCapture(uint64) error           { return nil }
func (f *fakeBackend) endCapture(uint64) (uint64, error) { return f.next() }
func (f *fakeBackend) newExec(uint64) (uint64, error)    { return f.next() }
func (*fakeBackend) updateExec(uint64, uint64) error     { return nil }
func (*fakeBackend) launchExec(uint64, uint64) error     { return nil }
func (*fakeBackend) closeExec(uint64) error              { return nil }
func (*fakeBackend) closeGraph(uint64) error             { return nil }
