package fused

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// EmbedTables is the largest number of tables of an EmbedNorm.
const EmbedTables = cutlass.EmbedTables

// EmbedNorm holds the arguments of LayerNorm(Tables[0][IDs[0]] + Tables[1][IDs[1]] + …). The
// result has the bits of Take, Add and LayerNorm. Tables are [rows, width], with adjacent
// elements in a row. IDs are dense, Int32 or Int64, and of one shape; the zero View stands for
// row 0. Dst has the shape of the IDs with width as an additional last axis. Gamma and Beta are
// dense, or the zero View.
type EmbedNorm struct {
	Dst         device.View
	Tables, IDs []device.View
	Gamma, Beta device.View
	Eps         float64
	Fail        func(error) error // adds context to the error of an id outside its table
}

// Check returns the shape of the result, or the first problem of the operands:
// layout.ErrShape or dtype.ErrDType. It looks only at types and layouts, and not at Dst.
func (e *EmbedNorm) Check() ([]int, error) {
	if n := len(e.Tables); n == 0 || n > EmbedTables || n != len(e.IDs) {
		return nil, layout.Errorf("%d tables and %d arrays of ids; want one array of ids for each table, and from 1 to %d tables", n, len(e.IDs), EmbedTables)
	}
	lines, err := e.checkTables()
	if err != nil {
		return nil, err
	}
	shape := append(slices.Clone(lines), e.Tables[0].Layout.Shape[1])
	for _, w := range []device.View{e.Gamma, e.Beta} {
		if !w.DType.Valid() {
			continue
		}
		if err := ops.CheckNorm(shape, w.Layout.Shape); err != nil {
			return nil, err
		}
	}
	_, err = layout.Size(shape)
	return shape, err
}

// checkTables checks the tables and their ids, and returns the shape of the ids.
func (e *EmbedNorm) checkTables() (lines []int, err error) {
	found := false
	for i, t := range e.Tables {
		s, id := t.Layout.Shape, e.IDs[i]
		if _, err := ops.Lookup(expr.LayerNorm).Check(t.DType); err != nil {
			return nil, err
		}
		if len(s) != 2 || s[1] != e.Tables[0].Layout.Shape[1] {
			return nil, layout.Errorf("table %d is %v, not [rows, width] with the width of table 0", i, s)
		}
		if !id.DType.Valid() { // row 0
			if s[0] == 0 {
				return nil, layout.Errorf("table %d has no rows", i)
			}
			continue
		}
		switch {
		case id.DType != dtype.Int32 && id.DType != dtype.Int64:
			return nil, fmt.Errorf("%w: the ids of table %d are %v, not int32 or int64; Cast(gpk.Int32) them", dtype.ErrDType, i, id.DType)
		case found && !slices.Equal(id.Layout.Shape, lines):
			return nil, layout.Errorf("the ids of table %d have shape %v, those of the table before it %v", i, id.Layout.Shape, lines)
		case s[0] == 0 && id.Layout.Size() > 0:
			return nil, layout.Errorf("table %d has no rows", i)
		}
		lines, found = id.Layout.Shape, true
	}
	if !found {
		return nil, layout.Errorf("no ids")
	}
	return lines, nil
}

// PlanEmbedNorm describes how lines of n elements are computed on a kind of device.
func PlanEmbedNorm(kind device.Kind, dt dtype.DType, n int) string {
	switch {
	case kind == device.CPU:
		return "one pass over the lines"
	case wholeVectors(dt, n):
		return "one kernel"
	}
	return "composed of Take, Add and LayerNorm; " + needsWholeVectors(dt, n)
}

// needsWholeVectors returns the reason why no kernel that holds a line in registers accepts
// lines of n elements.
func needsWholeVectors(dt dtype.DType, n int) string {
	return fmt.Sprintf("the kernel takes lines of whole vectors of 16 bytes, at most %d bytes, not %d elements of %v", heldBytes, n, dt)
}

// heldBytes is the length in bytes of the longest line that a kernel can hold in registers:
// 512 threads with 8 vectors each.
const heldBytes = 512 * 8 * 16

// wholeVectors reports whether a kernel that holds lines in registers accepts lines of n
// elements.
func wholeVectors(dt dtype.DType, n int) bool {
	bytes := n * dt.Size()
	return bytes%16 == 0 && bytes <= heldBytes
}

// onVectors reports whether all lines of a view begin at multiples of 16 bytes, and returns
// their distance. The elements must be adjacent along the last axis. For the zero View it
// reports true.
func onVectors(v device.View) (pitch int, ok bool) {
	if v.Buffer == nil {
		return 0, true
	}
	s := v.Layout.Strides
	if len(s) > 1 {
		pitch = s[len(s)-2]
	}
	return pitch, v.Addr()%16 == 0 && pitch*v.DType.Size()%16 == 0
}

// Run starts the work on s. An id outside its table is an error that wraps layout.ErrShape.
// The CPU returns it immediately, and writes nothing. On a GPU the kernel finds it, and the
// error is attached to Dst's buffer (deferred.Error). In a captured sequence the kernel
// reads row 0 instead.
func (e *EmbedNorm) Run(s *device.Stream) error {
	return densely(s, e.Dst, func(dst device.View) error {
		to := *e
		to.Dst = dst
		return to.run(s)
	})
}

// run is Run for a dense Dst.
func (e *EmbedNorm) run(s *device.Stream) error {
	if e.Dst.Layout.Size() == 0 {
		return nil
	}
	dev := s.Device()
	if dev.Kind() == device.CPU {
		own := *e // a capture keeps the work after this call
		return dev.LaunchWork(s, e.reads(), []*device.Buffer{e.Dst.Buffer}, &own)
	}
	if s.Capturing() && e.kernelFits() {
		return dev.LaunchWork(s, e.reads(), []*device.Buffer{e.Dst.Buffer}, &embedNormKernel{EmbedNorm: *e, dev: dev})
	}
	return aside(s, e.Dst, func(dst device.View) error {
		to := *e
		to.Dst = dst
		if to.kernelFits() {
			return to.runChecked(s)
		}
		return to.compose(s)
	})
}

func (e *EmbedNorm) reads() []*device.Buffer {
	reads := []*device.Buffer{e.Gamma.Buffer, e.Beta.Buffer}
	for i := range e.Tables {
		reads = append(reads, e.Tables[i].Buffer, e.IDs[i].Buffer)
	}
	return reads
}

// width returns the number of elements of a line, and lines the number of lines.
func (e *EmbedNorm) width() int { return e.Tables[0].Layout.Shape[1] }
func (e *EmbedNorm) lines() int { return e.Dst.Layout.Size() / e.width() }

// outsideTable returns the error of an id outside a table.
func outsideTable(fail func(error) error, table, rows int, id int64) error {
	return failedBy(fail, layout.Errorf("id %d lies outside table %d, which has %d rows", id, table, rows))
}

// Start implements device.Work, on the CPU.
func (e *EmbedNorm) Start(int, uint64) error {
	tables := make([]cpu.EmbedTable, len(e.Tables))
	for i, t := range e.Tables {
		tables[i] = cpu.EmbedTable{Data: t.Ptr(), Rows: t.Layout.Shape[0], Pitch: t.Layout.Strides[0]}
		if id := e.IDs[i]; id.Buffer != nil {
			tables[i].IDs, tables[i].IDType = id.Ptr(), id.DType
		}
		if id, ok := tables[i].CheckRows(e.lines()); !ok {
			return outsideTable(e.Fail, i, t.Layout.Shape[0], id)
		}
	}
	cpu.EmbedNorm(e.Dst.DType, e.lines(), e.width(), tables, hostAddress(e.Gamma), hostAddress(e.Beta), e.Eps, e.Dst.Ptr())
	return nil
}

// kernelFits reports whether the library's kernel accepts the operands in their layouts.
func (e *EmbedNorm) kernelFits() bool {
	fits := wholeVectors(e.Dst.DType, e.width())
	for _, v := range append([]device.View{{Buffer: e.Dst.Buffer, DType: e.Dst.DType, Layout: layout.Layout{Offset: e.Dst.Layout.Offset}}, e.Gamma, e.Beta}, e.Tables...) {
		_, ok := onVectors(v)
		fits = fits && ok
	}
	return fits
}

// runChecked starts the kernel with a check of the ids. Dst's buffer must be fresh.
func (e *EmbedNorm) runChecked(s *device.Stream) error {
	dev := s.Device()
	k := &embedNormKernel{EmbedNorm: *e, dev: dev}
	fail, rows := e.Fail, make([]int, len(e.Tables)) // without e's buffers
	for i, t := range e.Tables {
		rows[i] = t.Layout.Shape[0]
	}
	failure, flags, err := dev.NewDeferredError(s, func(flags [2]int64) error {
		if flags[0] == 0 {
			return nil
		}
		table := int(flags[0]>>48) - 1
		return outsideTable(fail, table, rows[table], flags[0]<<16>>16)
	})
	if err != nil {
		return err
	}
	k.flags = flags
	if err := dev.LaunchWork(s, e.reads(), []*device.Buffer{e.Dst.Buffer, k.flags}, k); err != nil {
		k.flags.Free()
		return err
	}
	e.Dst.Buffer.State().Attach(failure)
	return nil
}

// embedNormKernel is the launch of the library's kernel for an EmbedNorm.
type embedNormKernel struct {
	EmbedNorm
	dev   *device.Device
	flags *device.Buffer // nil: ids are not checked
}

// Start implements device.Work.
func (k *embedNormKernel) Start(ordinal int, stream uint64) error {
	args := k.arguments()
	if err := clearFlags(k.dev, ordinal, stream, k.flags); err != nil {
		return err
	}
	return k.dev.Library().EmbedNorm(ordinal, stream, &args)
}

// Enqueue implements device.Queued.
func (k *embedNormKernel) Enqueue(ordinal int, stream uint64) (bool, error) {
	if k.flags != nil { // two launches
		return false, nil
	}
	args := k.arguments()
	return true, k.dev.Submitted().EmbedNorm(ordinal, stream, &args)
}

// hostAddress returns the host address of the first element of a view, and deviceAddress its
// device address. For the zero View they return nil and 0.
func hostAddress(v device.View) unsafe.Pointer {
	if v.Buffer == nil {
		return nil
	}
	return v.Ptr()
}

func deviceAddress(v device.View) uint64 {
	if v.Buffer == nil {
		return 0
	}
	return v.Addr()
}

// clearFlags starts the work that sets the flags of a deferred error to zero, if there are
// any.
func clearFlags(dev *device.Device, ordinal int, stream uint64, flags *device.Buffer) error {
	if flags == nil {
		return nil
	}
	return dev.Library().Fill(ordinal, stream, dtype.Int64, []int{2}, 0, 0, flags.Addr(), []int{1})
}

func (k *embedNormKernel) arguments() cutlass.EmbedNorm {
	args := cutlass.EmbedNorm{
		Type: k.Dst.DType, Gamma: deviceAddress(k.Gamma), Beta: deviceAddress(k.Beta), Dst: k.Dst.Addr(),
		Lines: k.lines(), N: k.width(), Eps: k.Eps,
	}
	for i, t := range k.Tables {
		id := k.IDs[i]
		args.Tables[i] = cutlass.EmbedTable{Data: t.Addr(), IDs: deviceAddress(id), Rows: t.Layout.Shape[0], Pitch: t.Layout.Strides[0], Wide: id.DType == dtype.Int64}
	}
	if k.flags != nil {
		args.Flags = k.flags.Addr()
	}
	return args
}

// compose computes the lines by Take, Add and LayerNorm. Dst is fresh.
func (e *EmbedNorm) compose(s *device.Stream) error {
	shape := e.Dst.Layout.Shape
	memory := temporaries{stream: s}
	defer memory.free()
	var sum device.View
	for i, t := range e.Tables {
		row, err := memory.temporary(e.Dst.DType, shape...)
		if err != nil {
			return err
		}
		if err := e.rows(s, row, i); err != nil {
			return fmt.Errorf("table %d %v: %w", i, t.Layout.Shape, err)
		}
		if i == 0 {
			sum = row
			continue
		}
		next, err := memory.temporary(e.Dst.DType, shape...) // a new buffer, because a write to one in use would have to wait for the check of the ids
		if err != nil {
			return err
		}
		if err := ops.Apply2(s, expr.Add, next, sum, row); err != nil {
			return err
		}
		sum = next
	}
	return ops.Norm(s, expr.LayerNorm, e.Dst, sum, e.Gamma, e.Beta, e.Eps)
}

// rows writes the selected rows of table i to dst.
func (e *EmbedNorm) rows(s *device.Stream, dst device.View, i int) error {
	t, id := e.Tables[i], e.IDs[i]
	if id.Buffer == nil {
		var err error
		if t.Layout, err = t.Layout.Slice(0, 0, 1, 1); err == nil {
			t.Layout.Shape, t.Layout.Strides = t.Layout.Shape[1:], t.Layout.Strides[1:]
			t.Layout, err = t.Layout.BroadcastTo(dst.Layout.Shape)
		}
		if err != nil {
			return err
		}
		return ops.Cast(s, dst, t)
	}
	fail := e.Fail
	if fail == nil {
		fail = func(err error) error { return err }
	}
	return ops.Take(s, dst, t, id, 0, fail)
}
