// Package devicetest has the functions of package device that gpk's tests and benchmarks need
// and that device does not export. They are documented where they are defined, under the same
// name in lower case. It also has short ways to open the CPU.
package devicetest

import (
	"context"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/internal/hook"
)

// NewFake returns a device that has the given info and capabilities, computes nothing, and
// has its memory on the host, so that planning, ordering and accounting can be tested without
// a GPU.
func NewFake(info device.Info, c device.Capabilities) *device.Device { return newFake(info, c) }

// NewFakeQueued is NewFake for a device with a launch queue. All work that can be queued goes
// through the queue.
func NewFakeQueued(info device.Info, c device.Capabilities) *device.Device {
	return newFakeQueued(info, c)
}

// NewFakeWithCode is NewFake with a run-time compiler whose results code provides.
func NewFakeWithCode(info device.Info, c device.Capabilities, code device.FakeCode) *device.Device {
	return newFakeWithCode(info, c, code)
}

// FailLaunches makes every launch on d fail with the error that f returns, if any; nil
// ends that. f runs under the device's lock and must not call its methods.
func FailLaunches(d *device.Device, f func() error) { failLaunches(d, f) }

// AwaitCompiled waits until everything that is being compiled for the device is there, or
// until ctx ends.
func AwaitCompiled(d *device.Device, ctx context.Context) error { return awaitCompiled(d, ctx) }

// Watch records the most bytes that a device's pool has in use and holds, until Stop.
func Watch(d *device.Device) *deviceapi.Watch { return deviceapi.WatchWithin(d, 0) }

var (
	newFake         = hook.NewFake.(func(device.Info, device.Capabilities) *device.Device)
	newFakeQueued   = hook.NewFakeQueued.(func(device.Info, device.Capabilities) *device.Device)
	newFakeWithCode = hook.NewFakeWithCode.(func(device.Info, device.Capabilities, device.FakeCode) *device.Device)
	failLaunches    = hook.FailLaunches.(func(*device.Device, func() error))
	awaitCompiled   = hook.AwaitCompiled.(func(*device.Device, context.Context) error)
)
