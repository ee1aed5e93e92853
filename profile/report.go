package profile

import (
	"fmt"
	"io"
	"time"

	"github.com/gpk-go/gpk/expr"
)

// Report is the result of a profile. Times of events are relative to the start of the
// profile. A figure that was not measured is nil, and absent in JSON. A nil Report has the
// figures of an empty one, but cannot be written: that is ErrNil.
type Report struct {
	Format   int           `json:"format"` // of the JSON file; see Format
	Name     string        `json:"name,omitempty"`
	Started  time.Time     `json:"started"`
	Duration time.Duration `json:"duration_ns"`
	Host     Host          `json:"host"`
	Devices  []Device      `json:"devices"`

	Operations  []Operation  `json:"operations"` // in the order of their start
	Spans       []Region     `json:"spans,omitempty"`
	Transfers   []Transfer   `json:"transfers,omitempty"`
	Memory      []MemoryUse  `json:"memory,omitempty"`
	Allocations []Allocation `json:"allocations,omitempty"` // sorted by Peak, the largest first
	Graphs      *Graphs      `json:"graphs,omitempty"`
	Kernels     *Kernels     `json:"kernels,omitempty"`
	// Dropped is the number of events beyond Options.MaxEvents. They are not part of totals.
	Dropped int64 `json:"dropped,omitempty"`
}

// orEmpty returns the report, or an empty one for nil.
func (r *Report) orEmpty() *Report {
	if r == nil {
		return &Report{}
	}
	return r
}

// writable returns the error of a method that writes if its receiver or the Writer is nil.
// there says that the receiver is not nil.
func writable(method string, there bool, w io.Writer) error {
	switch {
	case !there:
		return fmt.Errorf("profile: %s: %w", method, ErrNil)
	case w == nil:
		return fmt.Errorf("profile: %s: %w: a nil Writer", method, expr.ErrUnsupported)
	}
	return nil
}

// Format is the version of the JSON file that this package writes.
const Format = 1

// Host describes the machine and the program.
type Host struct {
	GoVersion string `json:"go_version"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	CPUs      int    `json:"cpus"` // GOMAXPROCS
}

// Device is a device that worked while the profile ran.
type Device struct {
	Name        string   `json:"name"` // "cpu", "cuda:0"
	Model       string   `json:"model,omitempty"`
	Driver      string   `json:"driver,omitempty"`
	MemoryBytes int64    `json:"memory_bytes,omitempty"`
	PeakBytes   *int64   `json:"peak_bytes,omitempty"` // maximum of the bytes of buffers in use at the same time
	Streams     []Stream `json:"streams,omitempty"`
}

// Stream is a queue of work on a device.
type Stream struct {
	ID uint64 `json:"id"`
	// Busy is the fraction of the profile's duration in which the stream was computing or
	// copying, from 0 to 1, computed from the times of its events.
	Busy *float64 `json:"busy,omitempty"`
}

// Operation is one evaluation: an operation, or a chain of operations that ran as one.
type Operation struct {
	Name      string         `json:"name"`                   // "MatMul", "Exp"; of a chain the names, by dots
	Kernel    string         `json:"kernel,omitempty"`       // the kernel, as in Explain
	Site      string         `json:"site,omitempty"`         // file:line of the program
	DType     string         `json:"dtype,omitempty"`        // of the result
	Shape     []int          `json:"shape,omitempty"`        // of the result
	Device    string         `json:"device"`                 // Device.Name
	Stream    uint64         `json:"stream"`                 // Stream.ID
	Goroutine uint64         `json:"goroutine"`              // the goroutine that started it
	Span      int            `json:"span,omitempty"`         // Region.ID; 0: none
	Start     time.Duration  `json:"start_ns"`               // when the host's call began
	Host      time.Duration  `json:"host_ns"`                // how long the host's call took
	OnDevice  *time.Duration `json:"on_device_ns,omitempty"` // when the device began, measured by events
	Time      *time.Duration `json:"time_ns,omitempty"`      // how long the device computed, measured by events
	Bytes     int64          `json:"bytes,omitempty"`        // minimum number of bytes read and written
	Flops     int64          `json:"flops,omitempty"`        // for products
	Failed    bool           `json:"failed,omitempty"`
}

// Region is a named region of the program, opened by Span.
type Region struct {
	ID        int           `json:"id"`               // from 1
	Parent    int           `json:"parent,omitempty"` // ID; 0: none
	Name      string        `json:"name"`
	Goroutine uint64        `json:"goroutine"`
	Start     time.Duration `json:"start_ns"`
	Duration  time.Duration `json:"duration_ns"`
}

// Transfer is one copy between the host and a device, or between two devices.
type Transfer struct {
	Kind      TransferKind   `json:"kind"`
	Device    string         `json:"device"`
	Stream    uint64         `json:"stream"`
	Goroutine uint64         `json:"goroutine"`
	Span      int            `json:"span,omitempty"`
	Bytes     int64          `json:"bytes"`
	Start     time.Duration  `json:"start_ns"`
	Host      time.Duration  `json:"host_ns"`
	OnDevice  *time.Duration `json:"on_device_ns,omitempty"`
	Time      *time.Duration `json:"time_ns,omitempty"`
}

// TransferKind is the direction of a copy.
type TransferKind string

// The directions of a copy.
const (
	HostToDevice   TransferKind = "h2d"
	DeviceToHost   TransferKind = "d2h"
	DeviceToDevice TransferKind = "d2d"
)

// MemoryUse is the number of bytes in use on a device at a time.
type MemoryUse struct {
	Device string        `json:"device"`
	At     time.Duration `json:"at_ns"`
	InUse  int64         `json:"in_use_bytes"`
	Held   int64         `json:"held_bytes"` // bytes in use, and bytes kept by the pool for reuse
}

// Allocation describes the buffers that one operation on one line of the program made.
type Allocation struct {
	Name   string `json:"name"` // the operation, or Options.Name's label
	Site   string `json:"site,omitempty"`
	Device string `json:"device"`
	Count  int64  `json:"count"`
	Bytes  int64  `json:"bytes"`      // bytes of all buffers together
	InUse  int64  `json:"in_use"`     // bytes at the end of the profile
	Peak   int64  `json:"peak_bytes"` // maximum of the bytes in use at the same time
}

// Graphs counts captures and replays.
type Graphs struct {
	Captures int64 `json:"captures"`
	Replays  int64 `json:"replays"`
}

// Kernels counts the requests for kernels of chains.
type Kernels struct {
	Hits     int64         `json:"hits"`     // the kernel was already compiled
	Compiled int64         `json:"compiled"` // compiled while the profile ran
	Time     time.Duration `json:"time_ns"`  // time of these compilations
}
