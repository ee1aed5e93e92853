package device

import (
	"context"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/internal/niltest"
)

// TestNil calls everything with nil, with zero values and with numbers as far out as
// they go.
func TestNil(t *testing.T) {
	install(t, machine(nil, nil))
	must := func(v any, err error) any {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	coded := func() *Device {
		return newFakeWithCode(h200(0), CapabilitiesOf(90), FakeCode{
			Compile: func(Code) ([]int, string) { return []int{8}, "" },
			Start:   func(string, Launch, []byte) error { return nil },
		})
	}
	niltest.Run(t, niltest.Package{
		Values: []func() any{
			func() any { return cpu(t, 1<<20) },
			func() any { return coded() },
			func() any { return brokenDevice("broken", errBus) },
			func() any { return must(cpu(t, 0).NewStream()) },
			func() any { return must(coded().NewStream()) },
			func() any { return must(cpu(t, 0).Alloc(64, nil)) },
			func() any { return must(coded().Alloc(64, nil)) },
			func() any { return must(cpu(t, 0).NewEvent()) },
			func() any { return must(coded().Compile(Code{Kernel: "f"})) },
			func() any { return coded().compileLater(Code{Kernel: "f"}) },
			func() any { return cpu(t, 0).watch() },
			func() any {
				d := coded()
				return must(d.fetch(alloc(t, d, 64, nil), 0, 8, nil))
			},
			func() any {
				s := must(cpu(t, 0).NewStream()).(*Stream)
				if err := s.BeginCapture(); err != nil {
					t.Fatal(err)
				}
				return must(s.EndCapture())
			},
			func() any { return &CompileError{Kernel: "f", Log: "wrong"} },
			func() any { return &OutOfMemoryError{Err: errBus} },
			func() any { return h200(0) },
			func() any { return CUDA },
			func() any { return View{} },
		},
		Functions: map[string]any{
			"Wrap": Wrap, "CapabilitiesOf": CapabilitiesOf, "BlockSize": blockSize, "CompileImage": compileImage,
			"RuntimeCompiler": runtimeCompiler, "NewFake": newFake, "NewFakeWithCode": newFakeWithCode,
			"List": List, "Open": Open, "Default": Default, "Explain": Explain, "HostRoom": hostRoom,

			"SetDefault": func(d *Device) error { // later operations run on the device that it is given
				defer SetDefault(SetDefault(d))
				return Default().Synchronize(context.Background())
			},
			"WrapHost": func(d *Device, n int64, release func()) {
				_, _ = WrapHost(d, nil, n, release)
				var x int64
				if d.Err() == nil && n == 8 {
					_, _ = WrapHost(d, unsafe.Pointer(&x), n, release)
				}
			},
		},
	})
}

// TestNilMistakes checks that the use of nil or zero buffers, streams and work is an
// error on every device that works.
func TestNilMistakes(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		b, none := alloc(t, d, 8, nil), &Buffer{}
		nothing := func(int, uint64) error { return nil }
		var noContext context.Context
		for what, err := range map[string]error{
			"a zero buffer read":             d.Launch(nil, []*Buffer{none}, []*Buffer{b}, nothing),
			"a zero buffer written":          d.Launch(nil, nil, []*Buffer{b, none}, nothing),
			"a zero stream":                  d.Launch(&Stream{}, nil, []*Buffer{b}, nothing),
			"no function":                    d.Launch(nil, nil, []*Buffer{b}, nil),
			"no work":                        d.LaunchWork(nil, nil, []*Buffer{b}, nil),
			"a copy to a zero one":           d.Copy(none, 0, b, 0, 0, nil),
			"a copy from a zero one":         d.Copy(b, 0, none, 0, 0, nil),
			"bytes to a zero one":            d.CopyFromHost(none, 0, nil, nil),
			"bytes from a zero one":          d.CopyToHost(nil, none, 0, nil),
			"a nil stream closed":            (*Stream)(nil).Close(),
			"a zero graph":                   (&Graph{}).Launch(nil),
			"a zero event":                   d.main.Record(&Event{}),
			"no context":                     d.Synchronize(noContext),
			"a stream without":               d.main.Synchronize(noContext),
			"compiled without":               d.awaitCompiled(noContext),
			"an event without":               event(t, d).Synchronize(noContext),
			"a fetch without":                func() error { _, err := (&hostCopy{dev: d}).Wait(noContext); return err }(),
			"a compilation without":          func() error { _, err := failedCompilation(nil).wait(noContext); return err }(),
			"a deferred error without judge": func() error { _, _, err := d.NewDeferredError(nil, nil); return err }(),
		} {
			if err == nil {
				t.Errorf("%s: no error", what)
			} else {
				is(t, err, ErrDevice)
			}
		}
		b.State().Fail(nil) // nothing has failed
		ran := false
		if err := d.Launch(nil, []*Buffer{b}, nil, func(int, uint64) error { ran = true; return nil }); err != nil || !ran {
			t.Errorf("work on a buffer that failed with no error: run %v, error %v", ran, err)
		}
	})
}
