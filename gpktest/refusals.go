package gpktest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// alongAxis applies an operation that works along an axis.
func alongAxis(op expr.Op, a *gpk.Array, axis int) *gpk.Array {
	if f, ok := axisMethods[op]; ok {
		return f(a, axis)
	}
	return orderMethods[op](a, axis)
}

// orderMethods lists the operations along an axis that have more parameters than the
// axis.
var orderMethods = map[expr.Op]func(a *gpk.Array, axis int) *gpk.Array{
	expr.LayerNorm: func(a *gpk.Array, _ int) *gpk.Array { return gpk.LayerNorm(a, nil, nil, 0) },
	expr.RMSNorm:   func(a *gpk.Array, _ int) *gpk.Array { return gpk.RMSNorm(a, nil, 0) },
	expr.Sort:      func(a *gpk.Array, axis int) *gpk.Array { return gpk.Sort(a, axis, false) },
	expr.TopK: func(a *gpk.Array, axis int) *gpk.Array {
		values, indices := gpk.TopK(a, 1, axis)
		if (values.Err() == nil) != (indices.Err() == nil) {
			return nil
		}
		return values
	},
}

// testRefusals gives every operation of the table the types that it has no meaning for,
// operands of two types, shapes that do not meet and axes that are not there.
func testRefusals(t *testing.T, s *suite) {
	refused := func(what string, a *gpk.Array, cause error, op string, names ...any) {
		t.Helper()
		err := a.Err()
		var oe *gpk.OpError
		if !errors.Is(err, cause) || !errors.As(err, &oe) {
			t.Errorf("%s: %v, want %v", what, err, cause)
			return
		}
		if op != "" && oe.Op != op || !strings.Contains(oe.Site, "refusals.go:") && !strings.Contains(oe.Site, "gpktest/methods_gen.go:") {
			t.Errorf("%s: the error is of %s at %s: %v", what, oe.Op, oe.Site, err)
		}
		for _, n := range names {
			if !strings.Contains(err.Error(), fmt.Sprint(n)) {
				t.Errorf("%s: %v is not named: %v", what, n, err)
			}
		}
		if _, err := gpk.ToSlice[float32](a.T()); !errors.Is(err, cause) { // it stays
			t.Errorf("%s, at the boundary: %v", what, err)
		}
	}

	ones := map[gpk.DType]*gpk.Array{}
	for _, dt := range allTypes {
		ones[dt] = gpk.Ones(dt, 2, 3)
	}
	for i := range ops.Table {
		row := &ops.Table[i]
		apply := func(x, y *gpk.Array) *gpk.Array {
			switch row.Kind {
			case ops.Unary:
				return unaryMethods[row.Op](x)
			case ops.Binary:
				return binaryMethods[row.Op](x, y)
			case ops.Ternary:
				if row.Op == expr.Where {
					return gpk.Where(gpk.Ones(gpk.Bool, 2, 3), x, y)
				}
				return gpk.Clamp(x, y, y)
			case ops.Reduction:
				if row.Op == expr.Sum {
					return gpk.Sum(x, 1)
				}
				return reductionMethods[row.Op](x, 1)
			case ops.Line, ops.Order:
				return alongAxis(row.Op, x, 1)
			}
			return nil // Move: of every type
		}
		if row.Kind == ops.Move {
			if len(row.Types) != len(allTypes) {
				t.Errorf("%v: it is not of every type, and nothing here tries the others", row.Op)
			}
			continue
		}
		two := row.Kind == ops.Binary || row.Kind == ops.Ternary
		for _, dt := range allTypes {
			x := ones[dt]
			if !slices.Contains(row.Types, dt) {
				refused(name(row.Op, dt), apply(x, x), gpk.ErrDType, row.Op.String(), row.Op, dt)
				continue
			}
			if r := apply(x, x); r.Err() != nil || gpk.Eval(r) != nil {
				t.Errorf("%v of %v: %v, %v", row.Op, dt, r.Err(), gpk.Eval(r))
			}
			if !two {
				continue
			}
			for _, other := range allTypes {
				if other != dt && slices.Contains(row.Types, other) {
					refused(name(row.Op, dt, other), apply(x, ones[other]), gpk.ErrDType, row.Op.String(), dt, other, "Cast")
				}
			}
			for _, shape := range [][]int{{2}, {3, 3}, {2, 2}, {4, 2, 2}, {0, 3}, {2, 0}} {
				refused(name(row.Op, dt, shape), apply(x, gpk.Ones(dt, shape...)), gpk.ErrShape, row.Op.String(), []int{2, 3}, shape)
			}
		}
	}

	// Products that a type does not have.
	for _, dt := range allTypes {
		x := gpk.Ones(dt, 3, 3)
		for name, y := range map[string]*gpk.Array{"MatMul": x.MatMul(x), "Einsum": gpk.Einsum("ij,jk->ik", x, x), "VecDot": gpk.VecDot(x, x), "TensorDot": gpk.TensorDot(x, x, []int{1}, []int{0})} {
			if dt.HasProducts() {
				if err := y.Err(); err != nil {
					t.Errorf("%s of %v: %v", name, dt, err)
				}
				continue
			}
			if dt != gpk.Bool || name != "VecDot" { // VecDot of Bool counts
				refused(name, y, gpk.ErrDType, name, dt, "Cast")
			}
		}
	}

	// Numbers that a type does not hold.
	for _, c := range []struct {
		dt    gpk.DType
		value any
	}{
		{gpk.Int8, 128},
		{gpk.Int8, -129},
		{gpk.Uint8, -1},
		{gpk.Uint8, 256},
		{gpk.Int32, int64(1) << 31},
		{gpk.Int64, uint64(1) << 63},
		{gpk.Int16, 1 << 15},
		{gpk.Uint16, -1},
		{gpk.Uint16, 1 << 16},
		{gpk.Uint32, int64(1) << 32},
		{gpk.Uint64, -1},
		{gpk.Uint64, 0x1p64},
		{gpk.Int64, 0x1p63},
		{gpk.Int32, 0.5},
		{gpk.Int64, 1i},
		{gpk.Float32, 1i},
		{gpk.Float16, complex64(2i)},
		{gpk.Float64, true},
		{gpk.Float32, "1"},
		{gpk.Float32, nil},
		{gpk.Float32, []float32{1}},
	} {
		refused(name("Maximum", c.dt, c.value), ones[c.dt].Maximum(c.value), gpk.ErrDType, "Maximum")
		refused(name("Full", c.dt, c.value), gpk.Full(c.dt, c.value, 2), gpk.ErrDType, "Full")
	}

	// Axes that are not there, twice the same, and permutations that are none.
	x, ix := ones[gpk.Float32], gpk.Zeros(gpk.Int64, 2)
	for _, axis := range []int{2, -3, math.MaxInt / 2, math.MinInt / 2} {
		for op, f := range reductionMethods {
			refused(name(op, axis), f(x, axis), gpk.ErrShape, op.String(), []int{2, 3})
		}
		for op, f := range axisMethods {
			refused(name(op, axis), f(x, axis), gpk.ErrShape, op.String(), []int{2, 3})
		}
		for op, f := range orderMethods {
			if op != expr.LayerNorm && op != expr.RMSNorm {
				refused(name(op, axis), f(x, axis), gpk.ErrShape, op.String(), []int{2, 3})
			}
		}
		for what, a := range map[string]*gpk.Array{
			"Sum": x.Sum(axis), "Take": gpk.Take(x, ix, axis), "Concat": gpk.Concat(axis, x, x), "Repeat": x.Repeat(2, axis), "Flip": x.Flip(axis),
			"Squeeze": x.Squeeze(axis), "Slice": x.Slice(axis, 0, 1), "Transpose": x.Transpose(0, axis),
		} {
			refused(name(what, axis), a, gpk.ErrShape, what)
		}
		if axis != 2 && axis != -3 { // a new axis may be at 2 and at -3
			refused(name("Unsqueeze", axis), x.Unsqueeze(axis), gpk.ErrShape, "Unsqueeze")
			refused(name("Stack", axis), gpk.Stack(axis, x, x), gpk.ErrShape, "Stack")
		}
	}
	for op, f := range reductionMethods {
		if op != expr.ArgMax && op != expr.ArgMin {
			refused(name(op, "twice"), f(x, 1, -1), gpk.ErrShape, op.String())
		}
	}
	values, indices := x.TopK(4, 1)
	refused("TopK of more than there are", values, gpk.ErrShape, "TopK")
	refused("TopK of more than there are, places", indices, gpk.ErrShape, "TopK")
	values, _ = x.TopK(-1, 1)
	refused("TopK of -1", values, gpk.ErrShape, "TopK")
	for what, c := range map[string]struct {
		a     *gpk.Array
		cause error
		op    string
	}{
		"a permutation too short":    {x.Transpose(1), gpk.ErrShape, "Transpose"},
		"a permutation too long":     {x.Transpose(1, 0, 2), gpk.ErrShape, "Transpose"},
		"a permutation with a gap":   {x.Transpose(1, 1), gpk.ErrShape, "Transpose"},
		"two lengths unknown":        {x.Reshape(-1, -1), gpk.ErrShape, "Reshape"},
		"a length that is not whole": {x.Reshape(4, -1), gpk.ErrShape, "Reshape"},
		"a negative length":          {x.Reshape(-2, 3), gpk.ErrShape, "Reshape"},
		"squeezed where it is long":  {x.Squeeze(0), gpk.ErrShape, "Squeeze"},
		"broadcast to less":          {x.BroadcastTo(3), gpk.ErrShape, "BroadcastTo"},
		"broadcast to a negative":    {x.BroadcastTo(-1, 2, 3), gpk.ErrShape, "BroadcastTo"},
		"two steps":                  {x.Slice(0, 0, 1, 1, 1), gpk.ErrShape, "Slice"},
		"concat of two ranks":        {gpk.Concat(0, x, x.Reshape(6)), gpk.ErrShape, "Concat"},
		"concat of two types":        {gpk.Concat(0, x, ones[gpk.Float64]), gpk.ErrDType, "Concat"},
		"concat of numbers":          {gpk.Concat(0, x.Sum(), x.Sum()), gpk.ErrShape, "Concat"},
		"a type that is none":        {x.Cast(gpk.DType(99)), gpk.ErrDType, "Cast"},
		"a packed array":             {gpk.Pack(x).Add(1), gpk.ErrUnsupported, "Add"},
	} {
		refused(what, c.a, c.cause, c.op)
	}

	refusedWrites(t)
}

// refusedWrites checks writes in place with invalid operands. They return an error on their
// line, and write nothing.
func refusedWrites(t *testing.T) {
	x := gpk.Ones(gpk.Float32, 2, 3)
	row, packed := gpk.Ones(gpk.Float32, 3), gpk.Pack(gpk.Ones(gpk.Float32, 2, 3))
	freed := gpk.Ones(gpk.Float32, 3)
	freed.Free()
	broadcast := row.Reshape(1, 3).BroadcastTo(2, 3)
	halves := gpk.Ones(gpk.Float16, 2, 3)
	failed := x.Reshape(7)
	for what, c := range map[string]struct {
		err, cause error
		op         string
	}{
		"bias of two axes":         {gpk.BiasAddInPlace(x, x), gpk.ErrShape, "BiasAddInPlace"},
		"bias of another type":     {gpk.BiasAddInPlace(x, gpk.Ones(gpk.Float64, 3)), gpk.ErrDType, "BiasAddInPlace"},
		"in place, too wide":       {row.AddInPlace(x), gpk.ErrShape, "AddInPlace"},
		"in place, another shape":  {x.SubInPlace(gpk.Ones(gpk.Float32, 5)), gpk.ErrShape, "SubInPlace"},
		"in place, another type":   {x.MulInPlace(gpk.Ones(gpk.Int32, 2, 3)), gpk.ErrDType, "MulInPlace"},
		"in place, no number":      {x.DivInPlace("2"), gpk.ErrDType, "DivInPlace"},
		"a complex number":         {x.AddInPlace(1i), gpk.ErrDType, "AddInPlace"},
		"a broadcast array":        {broadcast.AddInPlace(1), gpk.ErrShape, "AddInPlace"},
		"a number to a broadcast":  {broadcast.CopyFrom(1), gpk.ErrShape, "CopyFrom"},
		"copied to a broadcast":    {broadcast.CopyFrom(x), gpk.ErrShape, "CopyFrom"},
		"Into a broadcast":         {gpk.Into(broadcast, x), gpk.ErrShape, "Into"},
		"copied from a wider":      {row.CopyFrom(x), gpk.ErrShape, "CopyFrom"},
		"copied from another type": {x.CopyFrom(halves), gpk.ErrDType, "CopyFrom"},
		"copied from no number":    {x.CopyFrom(nil), gpk.ErrDType, "CopyFrom"},
		"a packed array":           {packed.AddInPlace(1), gpk.ErrUnsupported, "AddInPlace"},
		"copied to a packed array": {packed.CopyFrom(x), gpk.ErrUnsupported, "CopyFrom"},
		"from a packed array":      {x.AddInPlace(packed), gpk.ErrUnsupported, "AddInPlace"},
		"from a freed array":       {row.AddInPlace(freed), gpk.ErrFreed, "AddInPlace"},
		"to a freed array":         {freed.AddInPlace(row), gpk.ErrFreed, "AddInPlace"},
		"from a failed array":      {x.AddInPlace(failed), gpk.ErrShape, "Reshape"},
	} {
		var oe *gpk.OpError
		if !errors.Is(c.err, c.cause) || !errors.As(c.err, &oe) {
			t.Errorf("%s: %v, want %v", what, c.err, c.cause)
		} else if oe.Op != c.op || !strings.Contains(oe.Site, "refusals.go:") {
			t.Errorf("%s: the error is of %s at %s: %v", what, oe.Op, oe.Site, c.err)
		}
	}
	for _, a := range []*gpk.Array{x, row, broadcast, x.T(), halves.Cast(gpk.Float32)} {
		got, err := gpk.ToSlice[float32](a)
		if err != nil || slices.ContainsFunc(got, func(v float32) bool { return v != 1 }) {
			t.Errorf("a refused write has left %v, %v", got, err)
		}
	}
	if got, err := gpk.ToSlice[float32](gpk.Ones(gpk.Float32, 1, 2).MatMul(packed)); err != nil || !slices.Equal(got, []float32{2, 2, 2}) {
		t.Errorf("a refused write has left a packed array as %v, %v", got, err)
	}
}

// testRoPEErrors checks the errors of RoPE for invalid arguments.
func testRoPEErrors(t *testing.T, s *suite) {
	f := func(shape ...int) *gpk.Array { return gpk.Ones(gpk.Float32, shape...) }
	p := func(shape ...int) *gpk.Array { return gpk.Zeros(gpk.Int32, shape...) }
	x, r := f(2, 4, 5, 8), f(4, 6, 8)
	type options = gpk.RoPEOptions
	freed := p(5)
	freed.Free()
	for what, c := range map[string]struct {
		x, positions *gpk.Array
		opts         options
		want         error
		said         string
	}{
		"two axes":             {f(5, 8), p(5), options{}, gpk.ErrShape, "[heads, total, dim]"},
		"five axes":            {f(1, 1, 1, 5, 8), p(5), options{}, gpk.ErrShape, "[heads, total, dim]"},
		"no axes":              {f(), p(5), options{}, gpk.ErrShape, "[heads, total, dim]"},
		"positions":            {x, p(4), options{}, gpk.ErrShape, "[4]"},
		"positions of batches": {x, p(1, 5), options{}, gpk.ErrShape, "[1 5]"},
		"positions, 0-d":       {x, p(), options{}, gpk.ErrShape, "[]"},
		"positions, 3 axes":    {x, p(2, 1, 5), options{}, gpk.ErrShape, "[2 1 5]"},
		"positions, ragged":    {r, p(4, 6), options{}, gpk.ErrShape, "[total]"},
		"odd":                  {f(1, 1, 2, 7), p(2), options{}, gpk.ErrShape, "7 features do not form pairs"},
		"an odd part":          {x, p(5), options{Dim: 3}, gpk.ErrShape, "3 features do not form pairs"},
		"a part too large":     {x, p(5), options{Dim: 10}, gpk.ErrShape, "Dim is 10 features, and x has 8"},
		"a negative part":      {x, p(5), options{Dim: -2}, gpk.ErrShape, "-2 features"},
		"float positions":      {x, f(5), options{}, gpk.ErrDType, "Cast(gpk.Int64)"},
		"small positions":      {x, p(5).Cast(gpk.Int8), options{}, gpk.ErrDType, "int8"},
		"integers":             {x.Cast(gpk.Int32), p(5), options{}, gpk.ErrDType, "int32"},
		"complex":              {x.Cast(gpk.Complex64), p(5), options{}, gpk.ErrDType, "complex64"},
		"a negative base":      {x, p(5), options{Base: -10000}, gpk.ErrUnsupported, "-10000"},
		"a base of NaN":        {x, p(5), options{Base: math.NaN()}, gpk.ErrUnsupported, "NaN"},
		"an empty scaling":     {x, p(5), options{Scaling: &gpk.RoPEScaling{}}, gpk.ErrUnsupported, "Factor of 0"},
		"nil":                  {nil, p(5), options{}, gpk.ErrShape, "nil"},
		"zero positions":       {x, new(gpk.Array), options{}, gpk.ErrShape, "nil"},
		"freed":                {x, freed, options{}, gpk.ErrFreed, "Free"},
		"packed":               {gpk.Pack(f(3, 3)), p(5), options{}, gpk.ErrUnsupported, "packed"},
	} {
		a := gpk.RoPEWith(c.x, c.positions, c.opts)
		err := a.Err()
		if err == nil {
			err = gpk.Eval(a)
		}
		refusedBy(t, what, err, c.want, "RoPEWith", "refusals.go:")
		if err == nil || !strings.Contains(err.Error(), c.said) {
			t.Errorf("%s: %v does not say %q", what, err, c.said)
		}
	}
	refusedBy(t, "RoPE", gpk.RoPE(x, p(4), 0).Err(), gpk.ErrShape, "RoPE", "refusals.go:")
	refusedBy(t, "sticky", gpk.RoPE(x.Reshape(3), p(4), 0).Err(), gpk.ErrShape, "Reshape", "refusals.go:")
	if cpu, err := device.Open("cpu"); err == nil && cpu != s.dev {
		refusedBy(t, "devices", gpk.RoPE(x, p(5).To(cpu), 0).Err(), gpk.ErrDevice, "RoPE", "refusals.go:")
	}
	if text := gpk.RoPE(x, nil, 0).Explain(); !strings.Contains(text, "RoPE: ") || s.dev.Kind() != device.CPU && !strings.Contains(text, "one kernel") {
		t.Errorf("Explain says %q", text)
	}
	if !slices.Equal(gpk.RoPE(x, nil, 0).Shape(), x.Shape()) {
		t.Error("another shape")
	}
}

// refusedBy checks the cause of an error, the operation that it names, and the file.
func refusedBy(t *testing.T, what string, err, want error, op, file string) {
	t.Helper()
	var oe *gpk.OpError
	switch {
	case !errors.Is(err, want):
		t.Errorf("%s: %v, want %v", what, err, want)
	case !errors.As(err, &oe) || oe.Op != op || !strings.Contains(oe.Site, file):
		t.Errorf("%s: not the error of %s in %s: %v", what, op, file, err)
	}
}
