package observe

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/callsite"
	"github.com/gpk-go/gpk/layout"
)

// recorder keeps the operations that it is told of.
type recorder struct {
	begun, ended []*Operation
	found        int
}

func (r *recorder) BeginOperation(op *Operation)               { r.begun = append(r.begun, op) }
func (r *recorder) EndOperation(op *Operation)                 { r.ended = append(r.ended, op) }
func (r *recorder) KernelFound(*device.Device)                 { r.found++ }
func (*recorder) BeginWork(*device.Measurement)                {}
func (*recorder) EndWork(*device.Measurement)                  {}
func (*recorder) Allocated(device.BufferUse)                   {}
func (*recorder) Freed(device.BufferUse)                       {}
func (*recorder) Captured(*device.Device)                      {}
func (*recorder) KernelCompiled(*device.Device, time.Duration) {}

// TestStart tells one observer at a time of operations, from Start to stop.
func TestStart(t *testing.T) {
	d, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	s := d.DefaultStream()
	if op := Begin(s, "Add", callsite.Site{}); op != nil {
		t.Error("an operation without an observer")
	}
	var none *Operation
	none.Writes(dtype.Float32, nil)
	none.Then("Add")
	none.Done(nil)
	r := &recorder{}
	stop, err := Start(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(&recorder{}); !errors.Is(err, device.ErrDevice) {
		t.Errorf("a second observer: %v", err)
	}
	KernelFound(d)
	buf, err := d.Alloc(64, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer buf.Free()
	row := device.View{Buffer: buf, DType: dtype.Float32, Layout: layout.Layout{Shape: []int{3, 4}, Strides: []int{0, 1}}}
	op := Begin(s, "Add", callsite.Site{})
	op.Then("Exp", row)
	op.Writes(dtype.Float64, []int{3, 4})
	failure := errors.New("broken")
	op.Done(failure)
	stop()
	stop()
	if Begin(s, "Add", callsite.Site{}) != nil {
		t.Error("an operation after stop")
	}
	if !slices.Equal(r.begun, []*Operation{op}) || !slices.Equal(r.ended, r.begun) || r.found != 1 {
		t.Fatalf("begun %v, ended %v, %d kernels found", r.begun, r.ended, r.found)
	}
	// A broadcast row of 4 float32 counts once; 12 float64 are written.
	if op.Name != "Add.Exp" || op.Bytes != 4*4+12*8 || op.DType != "float64" || op.Err != failure || op.End.Before(op.Begin) {
		t.Errorf("%+v", op)
	}
	if stop, err = Start(r); err != nil {
		t.Fatal(err)
	}
	stop()
}
