package batch

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/callsite"
	"github.com/gpk-go/gpk/matmul"
)

// ownFile is the name of this file in an OpError.
const ownFile = "batch/matmuls.go:"

// MatMuls returns the products as[i].MatMul(bs[i], opts...) in order. Pairs of equal shapes,
// types and streams are stacked and computed as one batched product; an operand that all
// pairs of such a group share, such as a weight, is not copied. The products are started, and
// MatMuls does not wait for them.
//
// An error affects only its own item. This is true of an operand that carries an error, of
// shapes that do not fit, and of a lack of memory for a stack. If as and bs differ in length,
// the items without a partner are gpk.ErrShape.
//
// Results of a group are views of one array, and belong to the newest scope among the group's
// operands. So Free of one frees them all; Clone makes an independent array. Each result has
// MatMul's precision. Its bits can differ from those of a separate product, for which another
// kernel may be chosen.
func MatMuls(as, bs []*gpk.Array, opts ...matmul.Option) []*gpk.Array {
	site := callsite.Here()
	out := matMuls(as, bs, opts)
	if array.Settled(out...) {
		return out
	}
	for i, c := range out {
		if err := c.Err(); err != nil {
			out[i] = array.Failed(locate(err, site, i))
		}
	}
	return out
}

// locate makes an error of the product of item i name the caller's line. An error that an
// operand already carried keeps its line.
func locate(err error, site callsite.Site, i int) error {
	e, ok := err.(*gpk.OpError) //nolint:errorlint // only the outermost error
	if !ok || !strings.HasPrefix(e.Site, ownFile) {
		return err
	}
	moved := *e
	moved.Op, moved.Err = "batch.MatMuls", fmt.Errorf("item %d: %w", i, e.Err)
	moved.Site = site.Outside("github.com/gpk-go/gpk/serve/batch")
	return &moved
}

func matMuls(as, bs []*gpk.Array, opts []matmul.Option) []*gpk.Array {
	out := make([]*gpk.Array, max(len(as), len(bs)))
	n := min(len(as), len(bs))
	for i := n; i < len(out); i++ {
		out[i] = array.Failed(&gpk.OpError{
			Op: "MatMuls", Site: ownFile,
			Err: fmt.Errorf("%w: it has one operand: there are %d left and %d right ones", gpk.ErrShape, len(as), len(bs)),
		})
	}
	// Pending operands are computed here. An error that is found now is the error of that
	// item only.
	operands := slices.Concat(as[:n], bs[:n])
	settled := array.Settled(operands...)
	sound := settled || gpk.Eval(operands...) == nil
	groups := map[kind][]int{}
	var order []kind
	var k kind
	at := -1
	for i := range n {
		if !sound && gpk.Eval(as[i], bs[i]) != nil || !stackable(as[i], settled) || !stackable(bs[i], settled) {
			out[i] = as[i].MatMul(bs[i], opts...)
			continue
		}
		// Usually all pairs are alike. Then only the kind of the first is computed.
		if at < 0 || !alike(as[i], as[at]) || !alike(bs[i], bs[at]) {
			at, k = i, kindOf(as[i], bs[i])
		}
		if groups[k] == nil {
			order = append(order, k)
			groups[k] = make([]int, 0, n-i)
		}
		groups[k] = append(groups[k], i)
	}
	for _, k := range order {
		multiply(out, as, bs, groups[k], opts)
	}
	return out
}

// stackable reports whether an array can be part of a stack without bringing an error to the
// other items. settled says that the array carries no error.
func stackable(a *gpk.Array, settled bool) bool {
	return a.NDim() > 0 && (settled || array.Settled(a))
}

// kind identifies the pairs that form a group.
type kind struct {
	shapes           string // both shapes, encoded as bytes
	aType, bType     gpk.DType
	aStream, bStream *device.Stream
}

func kindOf(a, b *gpk.Array) kind {
	var room [64]byte
	text := room[:0]
	for _, x := range [...]*gpk.Array{a, b} {
		text = append(text, byte(x.NDim()))
		for _, n := range x.Shape() {
			text = binary.AppendUvarint(text, uint64(n))
		}
	}
	return kind{string(text), a.DType(), b.DType(), a.Stream(), b.Stream()}
}

// alike reports whether two arrays have the same shape, type and stream.
func alike(a, b *gpk.Array) bool {
	x, y := array.Shown(a), array.Shown(b)
	return a.Stream() == b.Stream() && x.DType == y.DType && slices.Equal(x.Layout.Shape, y.Layout.Shape)
}

// multiply computes the products of a group. It computes them as one product if there are
// several and that succeeds, and otherwise one by one, so that every item has its own result
// or error.
func multiply(out, as, bs []*gpk.Array, group []int, opts []matmul.Option) {
	if len(group) > 1 {
		left, right := make([]*gpk.Array, len(group)), make([]*gpk.Array, len(group))
		for at, i := range group {
			left[at], right[at] = as[i], bs[i]
		}
		if c, err := batched(left, right, opts); err == nil {
			for at, item := range array.Unstack(c) {
				out[group[at]] = item
			}
			return
		}
	}
	for _, i := range group {
		out[i] = as[i].MatMul(bs[i], opts...)
		_ = gpk.Eval(out[i]) // starts the computation; the array carries the error
	}
}

// batched starts the products of pairs of equal shapes as one array, along a new first axis.
func batched(as, bs []*gpk.Array, opts []matmul.Option) (*gpk.Array, error) {
	x, y := as[0].Shape(), bs[0].Shape()
	if same(bs) && len(y) == 2 {
		// All rows of all items form one left operand.
		a := gpk.Stack(0, as...)
		defer a.Free()
		rows := len(as)
		for _, n := range x[:len(x)-1] {
			rows *= n
		}
		c := a.Reshape(rows, x[len(x)-1]).MatMul(bs[0], opts...)
		return c.Reshape(slices.Concat([]int{len(as)}, x[:len(x)-1], y[1:])...), gpk.Eval(c)
	}
	// MatMul broadcasts leading axes from the last one on. With operands of equal rank, the
	// new axis is the first of both.
	rank := max(len(x), len(y), 2)
	a, b := matrix(as[0], 0, rank), matrix(bs[0], 1, rank)
	if !same(as) || same(bs) {
		a = stack(as, 0, rank)
		defer a.Free()
	}
	if !same(bs) {
		b = stack(bs, 1, rank)
		defer b.Free()
	}
	c := a.MatMul(b, opts...)
	err := gpk.Eval(c)
	if len(y) == 1 {
		c = c.Squeeze(rank)
	}
	if len(x) == 1 {
		c = c.Squeeze(rank - 1)
	}
	return c, err
}

// stack returns operands of one shape as matrices along a new first axis. It makes no view
// for each operand: the concatenated operands are the stack.
func stack(as []*gpk.Array, axis, rank int) *gpk.Array {
	all, ok := array.Gathered(as)
	if !ok {
		all = gpk.Concat(0, as...)
	}
	return all.Reshape(append([]int{len(as)}, matrix(as[0], axis, rank).Shape()...)...)
}

// matrix returns an operand with rank axes, at least 2. A vector gets an axis of length 1:
// before axis 0 it becomes a row, before axis 1 a column.
func matrix(a *gpk.Array, axis, rank int) *gpk.Array {
	if a.NDim() == 1 {
		a = a.Unsqueeze(axis)
	}
	for a.NDim() < rank {
		a = a.Unsqueeze(0)
	}
	return a
}

// same reports whether all elements are the same array.
func same(as []*gpk.Array) bool {
	for _, a := range as {
		if a != as[0] {
			return false
		}
	}
	return true
}
