package gpktest

import (
	"fmt"
	"math/cmplx"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// sum is a random equation: the labels of each axis; the axes of an ellipsis have digits
// as labels.
type sum struct {
	text    string
	inputs  [][]rune
	output  []rune
	shapes  [][]int
	lengths map[rune]int
}

// someSum draws an equation of up to four operands, with diagonals, broadcast axes,
// ellipses, spaces, and with or without an output.
func (s *suite) someSum() sum {
	e := sum{lengths: map[rune]int{}}
	for _, label := range "abcdeXY01" {
		e.lengths[label] = 1 + s.rng.IntN(4)
		if s.rng.IntN(40) == 0 {
			e.lengths[label] = 0
		}
	}
	dots, widest := s.rng.IntN(3) == 0, 0
	var parts []string
	for range 1 + s.rng.IntN(4) {
		var labels []rune
		for range s.rng.IntN(4) {
			labels = append(labels, rune("abcdeXY"[s.rng.IntN(7)]))
		}
		text := string(labels)
		if dots && s.rng.IntN(4) > 0 {
			at, n := s.rng.IntN(len(labels)+1), s.rng.IntN(3)
			text = string(labels[:at]) + "..." + string(labels[at:])
			labels = slices.Insert(labels, at, []rune("01")[2-n:]...)
			widest = max(widest, n)
		}
		shape := make([]int, len(labels))
		for d, label := range labels {
			if shape[d] = e.lengths[label]; s.rng.IntN(8) == 0 && strings.Count(string(labels), string(label)) == 1 {
				shape[d] = 1
			}
		}
		e.inputs, e.shapes, parts = append(e.inputs, labels), append(e.shapes, shape), append(parts, text)
	}
	// The lengths of labels all of whose axes are broadcast.
	count := map[rune]int{}
	for label := range e.lengths {
		e.lengths[label] = 1
	}
	for i, labels := range e.inputs {
		for d, label := range labels {
			count[label]++
			if e.shapes[i][d] != 1 {
				e.lengths[label] = e.shapes[i][d]
			}
		}
	}
	e.text = strings.Join(parts, ",")
	all := []rune("01")[2-widest:]
	if s.rng.IntN(3) == 0 {
		e.output = slices.Clone(all)
		for _, label := range "XYabcde" {
			if count[label] == 1 {
				e.output = append(e.output, label)
			}
		}
	} else {
		for _, label := range "XYabcde" {
			if count[label] > 0 && s.rng.IntN(2) == 0 {
				e.output = append(e.output, label)
			}
		}
		s.rng.Shuffle(len(e.output), func(i, j int) { e.output[i], e.output[j] = e.output[j], e.output[i] })
		text := string(e.output)
		if strings.Contains(e.text, ".") {
			at := s.rng.IntN(len(e.output) + 1)
			text = string(e.output[:at]) + "..." + string(e.output[at:])
			e.output = slices.Insert(e.output, at, all...)
		}
		e.text += "->" + text
	}
	if s.rng.IntN(2) == 0 {
		e.text = strings.NewReplacer(",", " , ", "->", "  -> ").Replace(e.text)
	}
	return e
}

// loops computes an equation by loops over all labels: the result, and the sum of the
// absolute values of the products with their number.
func (e sum) loops(xs []tensor) (want tensor, absolute []float64, terms int) {
	var labels []rune
	labels = append(labels, e.output...)
	for _, in := range e.inputs {
		for _, label := range in {
			if !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
		}
	}
	shape := make([]int, len(labels))
	for i, label := range labels {
		shape[i] = e.lengths[label]
	}
	out := shape[:len(e.output):len(e.output)]
	want = tensor{shape: out, values: make([]complex128, size(out)), ints: make([]int64, size(out))}
	absolute = make([]float64, size(out))
	terms = size(shape[len(out):])
	index(shape, func(ix []int) {
		product, whole := complex128(1), int64(1)
		for i, x := range xs {
			jx := make([]int, len(x.shape))
			for d, label := range e.inputs[i] {
				if x.shape[d] > 1 {
					jx[d] = ix[slices.Index(labels, label)]
				}
			}
			if k := at(x.shape, jx); exact(x.dt) {
				whole *= x.ints[k]
			} else {
				product *= x.values[k]
			}
		}
		to := at(out, ix[:len(out)])
		want.values[to] += product
		want.ints[to] += whole
		absolute[to] += cmplx.Abs(product)
	})
	return want, absolute, terms
}

// bounded draws a tensor of numbers between -1 and 1, or of integers.
func (s *suite) bounded(dt gpk.DType, shape ...int) tensor {
	x := s.random(dt, shape...)
	for i := range x.values {
		v := complex(2*s.rng.Float64()-1, 0)
		if dt.IsComplex() {
			v = complex(real(v), 2*s.rng.Float64()-1)
		}
		x.values[i] = round(dt, v)
	}
	return x
}

// summed compares a result with loops. Every step of n operands, at most 2n + 1, rounds to
// the type and adds at most all terms in the type that it computes in.
func (e sum) summed(t *testing.T, what string, dt gpk.DType, got tensor, xs []tensor) {
	t.Helper()
	want, absolute, terms := e.loops(xs)
	if !slices.Equal(got.shape, want.shape) {
		t.Fatalf("%s: shape %v, want %v", what, got.shape, want.shape)
	}
	computed, own := units(dt)
	steps := float64(2*len(xs) + 1)
	for i := range want.ints {
		if exact(dt) {
			w := want.ints[i]
			if got.dt == gpk.Int32 {
				w = int64(int32(w))
			} else if got.dt != gpk.Int64 {
				t.Fatalf("%s: %v", what, got.dt)
			}
			if got.ints[i] != w {
				t.Fatalf("%s: element %d is %d, want %d", what, i, got.ints[i], w)
			}
			continue
		}
		bound := absolute[i] * (3*steps*own + 8*(float64(terms)+steps)*computed)
		if dt == gpk.Float16 {
			bound += steps * float64(terms) * 0x1p-23
		} else {
			bound += steps * float64(terms) * 0x1p-130
		}
		if off := cmplx.Abs(got.values[i] - want.values[i]); !(off <= bound) {
			t.Fatalf("%s: element %d is %v, want %v, off by %v, more than %v", what, i, got.values[i], want.values[i], off, bound)
		}
	}
}

// testEinsum compares random equations with loops.
func testEinsum(t *testing.T, s *suite) {
	defer gpk.SetPrecision(gpk.SetPrecision(gpk.FullPrecision))
	for range rounds(150, 25) {
		e := s.someSum()
		for _, dt := range allTypes {
			if !dt.HasProducts() {
				continue
			}
			var xs []tensor
			var as []*gpk.Array
			for _, shape := range e.shapes {
				x := s.bounded(dt, shape...)
				xs, as = append(xs, x), append(as, s.arranged(x))
			}
			a := gpk.Einsum(e.text, as...)
			if err := a.Err(); err != nil {
				t.Fatalf("%q of %v: %v", e.text, e.shapes, err)
			}
			got := read(t, a)
			if exact(dt) && got.dt == dt && dt.Size() == 1 { // one operand, not summed
				got.dt = gpk.Int64
			}
			e.summed(t, fmt.Sprintf("%q of %v %v", e.text, dt, e.shapes), dt, got, xs)
		}
	}
	s.einsumRoutes(t)
}

// einsumRoutes checks that contractions are the products that they should be.
func (s *suite) einsumRoutes(t *testing.T) {
	// Heads behind the sequence, as projections give them: the bits of a product of views.
	q, k := s.random(gpk.Float32, 2, 9, 3, 8).array(), s.random(gpk.Float32, 2, 7, 3, 8).array()
	want := q.Transpose(0, 2, 1, 3).MatMul(k.Transpose(0, 2, 3, 1))
	got := gpk.Einsum("bqhd,bkhd->bhqk", q, k)
	if text := got.Explain(); !strings.Contains(text, `Einsum "bqhd,bkhd->bhqk"`) {
		t.Errorf("Explain: %s", text)
	}
	equal(t, "scores", read(t, got), read(t, want))
	if err := gpk.Eval(q, k); err != nil {
		t.Fatal(err)
	}
	w := devicetest.Watch(s.dev)
	_ = read(t, gpk.Einsum("bqhd,bkhd->bhqk", q, k))
	einsum := w.Stop()
	w = devicetest.Watch(s.dev)
	_ = read(t, q.Transpose(0, 2, 1, 3).MatMul(k.Transpose(0, 2, 3, 1)))
	if plain := w.Stop(); einsum > plain {
		t.Errorf("an equation takes %d bytes, its product %d", einsum, plain)
	}
	// Two axes merge into one where the strides allow it, in either order.
	x, y := s.random(gpk.Float32, 3, 4, 5).array(), s.random(gpk.Float32, 4, 5, 6).array()
	equal(t, "merged", read(t, gpk.Einsum("abc,bcd->ad", x, y)), read(t, x.Reshape(3, 20).MatMul(y.Reshape(20, 6))))
	equal(t, "merged, swapped", read(t, gpk.Einsum("acb,bcd->da", x.Transpose(0, 2, 1), y)), read(t, y.Reshape(20, 6).T().MatMul(x.Reshape(3, 20).T())))
	// The cheap order of a chain of matrices, whatever order they are written in.
	a, b, c := gpk.Ones(gpk.Float32, 2, 50), gpk.Ones(gpk.Float32, 50, 60), gpk.Ones(gpk.Float32, 60, 1)
	if text := gpk.Einsum("ij,jk,kl->il", a, b, c).Explain(); !strings.Contains(text, "(0 (1 2)), 3.1e+03 multiplications") {
		t.Errorf("Explain: %s", text)
	}
	// Views are views.
	m := s.random(gpk.Int8, 4, 4)
	d := gpk.Einsum("ii->i", m.array())
	if !slices.Equal(d.Strides(), []int{5}) || d.DType() != gpk.Int8 {
		t.Errorf("a diagonal with strides %v, of %v", d.Strides(), d.DType())
	}
}

// testEinsumErrors checks the position of the caret under the part of an equation that
// does not parse or does not fit.
func testEinsumErrors(t *testing.T, s *suite) {
	x, cube := gpk.Ones(gpk.Float32, 2, 3), gpk.Ones(gpk.Float32, 2, 3, 4)
	for _, c := range []struct {
		text, caret string
		as          []*gpk.Array
	}{
		{"i?,jk->ik", " ^", []*gpk.Array{x, x}},
		{"ij,jk->i1", "        ^", []*gpk.Array{x, x}},
		{"ij-jk", "  ^", []*gpk.Array{x, x}},
		{"ij->i->j", "     ^", []*gpk.Array{x}},
		{"ij->i,j", "     ^", []*gpk.Array{x}},
		{"ij,jk->ik", "      ^", []*gpk.Array{x, x}}, // jk: 3 and 2
		{"ij,ij", "     ^", []*gpk.Array{x, x, x}},
		{"ij,ij", "   ^", []*gpk.Array{x}},
		{"ij,ij", "^", nil},
		{"ijk", "^", []*gpk.Array{x}},
		{"ij, i", "    ^", []*gpk.Array{x, x}},
		{"ii", " ^", []*gpk.Array{x}},
		{"ij->ik", "     ^", []*gpk.Array{x}},
		{"ij->iji", "      ^", []*gpk.Array{x}},
		{"i..j", " ^", []*gpk.Array{x}},
		{"...i...", "    ^", []*gpk.Array{cube}},
		{"...j->j", "      ^", []*gpk.Array{x}},
		{"...ijkl", "^", []*gpk.Array{cube}},
		{"ü", "^", []*gpk.Array{x}},
	} {
		a := gpk.Einsum(c.text, c.as...)
		if c.text == "ij,jk->ik" {
			c.caret = "   ^"
		}
		s.refusedAs(t, c.text, "Einsum", []*gpk.Array{a}, gpk.ErrShape)
		if a.Err() == nil {
			continue
		}
		lines := strings.Split(a.Err().Error(), "\n\t")
		if len(lines) != 3 || lines[1] != c.text || lines[2] != c.caret {
			t.Errorf("%q: the caret is not at %q: %v", c.text, c.caret, a.Err())
		}
	}
	for what, c := range map[string]struct {
		op   string
		got  *gpk.Array
		want error
	}{
		"no UTF-8":           {"Einsum", gpk.Einsum("i\xff", x), gpk.ErrShape},
		"two types":          {"Einsum", gpk.Einsum("ij,ij", x, x.Cast(gpk.Int8)), gpk.ErrDType},
		"bool":               {"Einsum", gpk.Einsum("ij->", x.Gt(0)), gpk.ErrDType},
		"a nil operand":      {"Einsum", gpk.Einsum("ij", nil), gpk.ErrShape},
		"TensorDot lists":    {"TensorDot", x.TensorDot(x, []int{0}, nil), gpk.ErrShape},
		"TensorDot lengths":  {"TensorDot", x.TensorDot(x, []int{0}, []int{1}), gpk.ErrShape},
		"TensorDot twice":    {"TensorDot", x.TensorDot(x, []int{0, 0}, []int{0, 1}), gpk.ErrShape},
		"TensorDot of 5":     {"TensorDot", x.TensorDot(x, []int{0}, []int{5}), gpk.ErrShape},
		"TensorDot of types": {"TensorDot", x.TensorDot(x.Gt(0), nil, nil), gpk.ErrDType},
		"Outer of bool":      {"Outer", x.Gt(0).Outer(x.Gt(0)), gpk.ErrDType},
		"Outer of nil":       {"Outer", x.Outer(nil), gpk.ErrShape},
		"VecDot lengths":     {"VecDot", x.VecDot(cube), gpk.ErrShape},
		"VecDot of one":      {"VecDot", x.VecDot(gpk.Ones(gpk.Float32, 1)), gpk.ErrShape},
		"VecDot of axis 2":   {"VecDot", x.VecDot(x, 2), gpk.ErrShape},
		"Kron of types":      {"Kron", gpk.Kron(x, x.Cast(gpk.Float64)), gpk.ErrDType},
	} {
		s.refusedAs(t, what, c.op, []*gpk.Array{c.got}, c.want)
	}
}
