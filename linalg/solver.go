package linalg

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cusolver"
	"github.com/gpk-go/gpk/ops"
)

// solver implements engine on a GPU with NVIDIA's cuSOLVER. cuSOLVER stores matrices by columns, so it sees the
// transpose of a matrix of gpk. The transpose of a Hermitian matrix is its conjugate, with the triangles exchanged. The
// results are transposed views of the matrices that cuSOLVER writes.
//
// Small matrices, and calls that cuSOLVER refuses, are left to blocked.
type solver struct {
	blocked
	least int // matrices with fewer rows and columns than this are small
}

// solverLeast is the smallest number of rows or columns for which cuSOLVER is used. Smaller matrices are one kernel of
// blocked, or take as long on the CPU as cuSOLVER's launches do.
const solverLeast = 65

// aloneUntil is the largest number of rows or columns for which blocked computes a batch of many matrices that cuSOLVER
// would factor one after the other.
const aloneUntil = 512

// leaves reports whether a is left to blocked. together says that one call of cuSOLVER factors a whole batch.
func (s solver) leaves(a *gpk.Array, together bool) bool {
	shape := a.Shape()
	k := min(shape[len(shape)-1], shape[len(shape)-2])
	batch := product1(shape[:len(shape)-2])
	switch {
	case a.Size() == 0:
		return true
	case s.least == 0:
		return false
	case together && batch > 1:
		return false
	}
	return k < s.least || k <= aloneUntil && batch > k/8
}

// leavesLU reports whether LU is left to blocked. If the device has no kernels for LU, blocked would copy many matrices
// to the CPU, so cuSOLVER factors them one after the other on the GPU.
func (s solver) leavesLU(op *operation, a *gpk.Array) bool {
	_, _, m, n := shapeOf(a)
	return s.leaves(a, false) && (a.Size() == 0 || min(m, n) < s.least || op.hasLU(a))
}

// leavesFactors reports whether LU is left to blocked if the factors are not used to solve a system. On an H200 LU by
// gpk's kernels takes 0.48 to 0.79 of cuSOLVER's time for float32, 0.64 to 0.86 for float64 and 0.81 to 0.92 for
// complex numbers (benchmark/results/gpk-lu-engines_h200_2026-11-28.txt).
func (s solver) leavesFactors(op *operation, a *gpk.Array) bool {
	return s.leavesLU(op, a) || s.least > 0 && op.hasLU(a)
}

// refuses reports whether an error is cuSOLVER's own, so that blocked has to compute. It stores the error for Explain.
// A lack of memory is not such an error, and is returned to the user.
func (op *operation) refuses(err error) bool {
	e := cusolver.StatusOf(err)
	if e == nil || errors.Is(err, gpk.ErrOutOfMemory) {
		return false
	}
	op.refused = e
	return true
}

// runner is a stream on which cuSOLVER works, with the views that its calls read and write.
type runner struct {
	*device.Stream
	kind       cusolver.Kind
	dst, reads []device.View
	info       *device.Buffer
}

// run starts a call. It sets the call's kind, and its type to that of the results.
func (r *runner) run(c cusolver.Call) error {
	c.Kind, c.Type, c.Info = r.kind, r.dst[0].DType, r.info
	return cusolver.Run(r.Stream, &c, buffers(append(r.reads[:len(r.reads):len(r.reads)], r.dst...)...), buffers(r.dst...))
}

// call computes results by a function of cuSOLVER, which Explain names. start writes the views of dst, all of which are
// dense, and info, an int32 for each matrix of the batch. cuSOLVER's functions work in place, so start first copies the
// operand to the first view of dst.
func (op *operation) call(kind cusolver.Kind, parts []array.Part, reads []*gpk.Array, info *report, start func(r *runner) error) ([]*gpk.Array, error) {
	var cause error // the error without the name of an operation
	results, err := op.Several(parts, fmt.Sprintf("%v of %s on %v", kind, cusolver.Version(), op.dev), reads, func(s *device.Stream, dst, reads []device.View) error {
		cause = info.of(s, func(buf *device.Buffer) error { return start(&runner{s, kind, dst, reads, buf}) })
		return cause
	})
	if cause != nil {
		return nil, cause
	}
	return results, err
}

// report holds cuSOLVER's int32 for each matrix of a stack: 0 for success.
type report struct {
	lead   []int
	asked  bool // the method of waits for the call and reads the values
	values []int32
}

// of calls start with a buffer for the values. If asked is set, it waits and reads them.
func (r *report) of(s *device.Stream, start func(buf *device.Buffer) error) error {
	n := product1(r.lead)
	buf, err := s.Device().Alloc(4*int64(n), s)
	if err != nil {
		return err
	}
	defer buf.Free()
	if err := start(buf); err != nil || !r.asked {
		return err
	}
	raw := make([]byte, 4*n)
	if err := s.Device().CopyToHost(raw, buf, 0, s); err != nil {
		return err
	}
	r.values = make([]int32, n)
	for i := range r.values {
		r.values[i] = int32(binary.NativeEndian.Uint32(raw[4*i:]))
		if r.values[i] < 0 {
			return cusolver.Failure(fmt.Sprintf("argument %d", -r.values[i]), 3)
		}
	}
	return nil
}

// first returns the first matrix with a value that is not 0, and the value.
func (r *report) first() (member, value int, found bool) {
	i := slices.IndexFunc(r.values, func(v int32) bool { return v != 0 })
	if i < 0 {
		return 0, 0, false
	}
	return i, int(r.values[i]), true
}

// fill copies src to dst. If conjugated is set, it conjugates the elements.
func fill(s *device.Stream, dst, src device.View, conjugated bool) error {
	if conjugated && src.DType.IsComplex() {
		return ops.Apply1(s, expr.Conj, dst, src)
	}
	return ops.Cast(s, dst, src)
}

// buffers returns the buffers of views.
func buffers(views ...device.View) []*device.Buffer {
	list := make([]*device.Buffer, len(views))
	for i, v := range views {
		list[i] = v.Buffer
	}
	return list
}

// stackOf returns the operand of a dense stack of matrices whose columns have n elements.
func stackOf(v device.View, n, size int) cusolver.Operand {
	return cusolver.Operand{Addr: v.Addr(), Ld: n, Step: size}
}

// conjugated returns the conjugate of a complex array. It returns a real one unchanged.
func conjugated(a *gpk.Array) *gpk.Array {
	if a.DType().IsComplex() {
		return a.Conj()
	}
	return a
}

// with returns lead followed by the axes more.
func with(lead []int, more ...int) []int { return append(slices.Clone(lead), more...) }

// shapeOf returns the leading axes of a stack of matrices, their product, and the numbers of rows and columns.
func shapeOf(a *gpk.Array) (lead []int, batch, rows, cols int) {
	s := a.Shape()
	n := len(s)
	lead = s[:n-2]
	return lead, product1(lead), s[n-2], s[n-1]
}
