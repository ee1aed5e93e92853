package device

import (
	"errors"
	"unsafe"

	"github.com/gpk-go/gpk/internal/submit"
)

// newFakeQueued is newFake for a device with a launch queue. All work that can be queued
// goes through the queue. If a queued call fails, the error is that of the work. In a
// program without launch queues the device has none.
func newFakeQueued(info Info, c Capabilities) *Device {
	d, err := newDevice(info, &fakeQueueBackend{calls: submit.New(submit.Always)}, nil, &ranges{}, newCollector(), 0)
	if err != nil {
		return brokenDevice(info.label(), err)
	}
	d.caps = c
	return d
}

// fakeQueueBackend drains its queue in the same methods as the driver's backend does.
type fakeQueueBackend struct {
	fakeBackend
	calls *submit.Queue
}

func (f *fakeQueueBackend) queue() *submit.Queue { return f.calls }

func (*fakeQueueBackend) launchError(uintptr, int) (error, bool) {
	return errors.New("a queued call failed"), true
}

func (*fakeQueueBackend) enqueueFunction(uint64, uint64, Launch, []byte) {}

func (f *fakeQueueBackend) syncStream(stream uint64) error {
	f.calls.Drain()
	return f.fakeBackend.syncStream(stream)
}

func (f *fakeQueueBackend) record(event, stream uint64) error {
	f.calls.Drain()
	return f.fakeBackend.record(event, stream)
}

func (f *fakeQueueBackend) wait(stream, event uint64) error {
	f.calls.Drain()
	return f.fakeBackend.wait(stream, event)
}

func (f *fakeQueueBackend) copyOut(dst unsafe.Pointer, m memory, off, n int64, stream, event uint64) error {
	f.calls.Drain()
	return f.fakeBackend.copyOut(dst, m, off, n, stream, event)
}

func (f *fakeQueueBackend) syncCopyOut(dst unsafe.Pointer, m memory, off, n int64, stream uint64) error {
	f.calls.Drain()
	return f.fakeBackend.syncCopyOut(dst, m, off, n, stream)
}

func (f *fakeQueueBackend) launchExec(exec, stream uint64) error {
	f.calls.Drain()
	return f.fakeBackend.launchExec(exec, stream)
}
