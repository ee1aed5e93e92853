package device

import (
	"context"

	"github.com/gpk-go/gpk/internal/hook"
	"github.com/gpk-go/gpk/internal/submit"
)

// Functions that only gpk's own packages call are not exported. They are available through
// internal/deviceapi and, if they are for tests, through internal/devicetest.
func init() {
	hook.NewFake = newFake
	hook.NewFakeQueued = newFakeQueued
	hook.NewFakeWithCode = newFakeWithCode
	hook.FailLaunches = (*Device).failLaunches
	hook.Collect = (*Device).collectDropped
	hook.AwaitCompiled = (*Device).awaitCompiled
	hook.WatchWithin = func(d *Device, bytes int64) (stop, held func() int64) {
		w := d.watchWithin(bytes)
		return w.Stop, w.Held
	}
	hook.HostRoom = hostRoom
	hook.BlockSize = blockSize
	hook.AllocMapped = (*Device).allocMapped
	hook.Hold = (*Buffer).hold
	hook.Free = (*Buffer).free
	hook.AllocExposed = (*Device).allocExposed
	hook.NewEvents = (*Device).newEvents
	hook.CopyFromHostUntil = (*Device).copyFromHostUntil
	hook.FetchUntil = func(d *Device, src *Buffer, off int64, n int, s *Stream, e *Event) (wait func(context.Context) ([]byte, error), free func(), err error) {
		f, err := d.fetchUntil(src, off, n, s, e)
		if err != nil {
			return nil, nil, err
		}
		return f.Wait, f.Free, nil
	}
	hook.CompileImage = compileImage
	hook.RuntimeCompiler = runtimeCompiler
	hook.CompileLater = func(d *Device, code Code) interface {
		Function() (f *Function, ready bool, err error)
		Now(ctx context.Context) (*Function, error)
		Again() bool
	} {
		return d.compileLater(code)
	}
	hook.CompilerVersion = (*Device).compilerVersion
	hook.Exposable = (*Buffer).exposable
	hook.Fresh = (*Buffer).isFresh
	hook.CheckOnce = (*Buffer).checkOnce
	hook.Closed = (*Stream).isClosed
	hook.Call = (*Device).call
	hook.Queue = func(d *Device) *submit.Queue { return d.submission.queue }
	hook.Sequence = (*Stream).sequence
	hook.WaitSequence = (*Stream).waitSequence
	hook.Follow = (*Stream).follow
	hook.Observe = func(o Observer) (stop func(), err error) {
		x, err := observe(o)
		if err != nil {
			return nil, err
		}
		return x.Stop, nil
	}
}
