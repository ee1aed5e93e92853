package gpktest

import (
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// testEinsumErrors checks the caret under what does not parse or does not fit.
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
