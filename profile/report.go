package profile

import (
	"fmt"
	"io"
	"time"

	"github.com/gpk-go/gpk/expr"
)

// Report is what a profile measured. Times of events are counted from the start
// of the profile. A figure that was not measured is nil, and absent in JSON. A nil Report has
// the figures of an empty one, and writing it is ErrNil.
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
	Allocations []Allocation `json:"allocations,omitempty"` // by Peak, the largest first
	Graphs      *Graphs      `json:"graphs,omitempty"`
	Kernels     *Kernels     `json:"kernels,omitempty"`
	// Dropped is the number of events beyond Options.MaxEvents. Totals leave them out.
	Dropped int64 `json:"dropped,omitempty"`
}

// orEmpty returns the report; an empty one where it is nil, so that its figures are those of
// no events.
func (r *Report) orEmpty() *Report {
	if r == nil {
		return &Report{}
	}
	return r
}

// writable is why what a method writes cannot be written: there is no such value, or no
// Writer.
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

// Host is the machine and the program.
type Host struct {
	GoVersion string `json:"go_version"`
	OS        string `json:"os"`
	Arch      string `json:"arch"`
	CPUs      int    `json:"cpus"` // GOMAXPROCS
}

// Device is a device that did something while the profile ran.
type Device struct {
	Name        string   `json:"name"` // "cpu", "cuda:0"
	Model       string   `json:"model,omitempty"`
	Driver      string   `json:"driver,omitempty"`
	MemoryBytes int64    `json:"memory_bytes,omitempty"`
	PeakBytes   *int64   `json:"peak_bytes,omitempty"` // of buffers in use at once
	Streams     []Stream `json:"streams,omitempty"`
}

// Stream is a queue of work on a device.
type Stream struct {
	ID uint64 `json:"id"`
	// Busy is the share of the profile's duration in which the stream was computing or
	// copying, 0 to 1, from the times of its events.
	Busy *float64 `json:"busy,omitempty"`
}

// Operation is one evaluation: an operation, or a chain that ran as one.
type Operation struct {
	Name      string         `json:"name"`                   // "MatMul", "Exp"; of a chain the names, by dots
	Kernel    string         `json:"kernel,omitempty"`       // what computed it
	Site      string         `json:"site,omitempty"`         // file:line of the program
	DType     string         `json:"dtype,omitempty"`        // of the result
	Shape     []int          `json:"shape,omitempty"`        // of the result
	Device    string         `json:"device"`                 // Device.Name
	Stream    uint64         `json:"stream"`                 // Stream.ID
	Goroutine uint64         `json:"goroutine"`              // that started it
	Span      int            `json:"span,omitempty"`         // Region.ID; 0: none
	Start     time.Duration  `json:"start_ns"`               // of the host's call
	Host      time.Duration  `json:"host_ns"`                // how long the host's call took
	OnDevice  *time.Duration `json:"on_device_ns,omitempty"` // when the device began, by events
	Time      *time.Duration `json:"time_ns,omitempty"`      // how long the device computed, by events
	Bytes     int64          `json:"bytes,omitempty"`        // read and written at least
	Flops     int64          `json:"flops,omitempty"`        // of products
	Failed    bool           `json:"failed,omitempty"`
}

// Region is a named region of the program, a span.
type Region struct {
	ID        int           `json:"id"`               // from 1
	Parent    int           `json:"parent,omitempty"` // ID; 0: none
	Name      string        `json:"name"`
	Goroutine uint64        `json:"goroutine"`
	Start     time.Duration `json:"start_ns"`
	Duration  time.Duration `json:"duration_ns"`
}

// Transfer is one copy between the host and a device, or between devices.
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

// MemoryUse is the bytes of buffers in use on a device at a time.
type MemoryUse struct {
	Device string        `json:"device"`
	At     time.Duration `json:"at_ns"`
	InUse  int64         `json:"in_use_bytes"`
	Held   int64         `json:"held_bytes"` // in use, and kept by the pool for later
}

// Allocation is the buffers that one operation of one line of the program made.
type Allocation struct {
	Name   string `json:"name"` // the operation, or Options.Name's label
	Site   string `json:"site,omitempty"`
	Device string `json:"device"`
	Count  int64  `json:"count"`
	Bytes  int64  `json:"bytes"`      // of all together
	InUse  int64  `json:"in_use"`     // bytes at the end of the profile
	Peak   int64  `json:"peak_bytes"` // the most bytes in use at once
}

// Graphs counts captures and replays.
type Graphs struct {
	Captures int64 `json:"captures"`
	Replays  int64 `json:"replays"`
}

// Kernels counts the kernels that chains asked for.
type Kernels struct {
	Hits     int64         `json:"hits"`     // found compiled
	Compiled int64         `json:"compiled"` // by the driver's compiler, while the profile ran
	Time     time.Duration `json:"time_ns"`  // that compiling took
}
