package gpktest

import (
	"errors"
	"math"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// shapeErrors checks that what fits no shape is refused on its line.
func (s *suite) shapeErrors(t *testing.T) {
	x := gpk.Ones(gpk.Float32, 4, 6)
	bad := gpk.Ones(gpk.Float32, 2).Reshape(3)
	for what, c := range map[string]struct {
		op   string
		got  []*gpk.Array
		want error
	}{
		"Split by 4":             {"Split", x.Split(4, 1), gpk.ErrShape},
		"Split by 0":             {"Split", x.Split(0, 1), gpk.ErrShape},
		"Split of axis 2":        {"Split", x.Split(1, 2), gpk.ErrShape},
		"SplitAt falling":        {"SplitAt", x.SplitAt(1, 3, 2), gpk.ErrShape},
		"SplitAt outside":        {"SplitAt", gpk.SplitAt(x, 1, 7), gpk.ErrShape},
		"Chunk by 0":             {"Chunk", x.Chunk(0, 0), gpk.ErrShape},
		"Tile by -1":             {"Tile", []*gpk.Array{x.Tile(2, -1)}, gpk.ErrShape},
		"Tile too long":          {"Tile", []*gpk.Array{x.Tile(math.MaxInt, math.MaxInt)}, gpk.ErrShape},
		"Roll of axis 2":         {"Roll", []*gpk.Array{gpk.Roll(x, 1, 2)}, gpk.ErrShape},
		"MoveAxis to 2":          {"MoveAxis", []*gpk.Array{x.MoveAxis(0, 2)}, gpk.ErrShape},
		"SwapAxes of -3":         {"SwapAxes", []*gpk.Array{x.SwapAxes(-3, 0)}, gpk.ErrShape},
		"Diag of three axes":     {"Diag", []*gpk.Array{gpk.Diag(x.Unsqueeze(0))}, gpk.ErrShape},
		"Diag outside":           {"Diag", []*gpk.Array{x.Diag(7)}, gpk.ErrShape},
		"Diag twice":             {"Diag", []*gpk.Array{x.Diag(1, 2)}, gpk.ErrShape},
		"Tril of one axis":       {"Tril", []*gpk.Array{x.Slice(0, 0, 1).Squeeze(0).Tril()}, gpk.ErrShape},
		"Meshgrid of two axes":   {"Meshgrid", gpk.Meshgrid(x, x), gpk.ErrShape},
		"BroadcastArrays":        {"BroadcastArrays", gpk.BroadcastArrays(x, x.T()), gpk.ErrShape},
		"FullLike of a fraction": {"FullLike", []*gpk.Array{gpk.FullLike(x, 0.5, gpk.Int8)}, gpk.ErrDType},
		"OnesLike of two types":  {"OnesLike", []*gpk.Array{gpk.OnesLike(x, gpk.Int8, gpk.Bool)}, gpk.ErrShape},
		"OneHot of floats":       {"OneHot", []*gpk.Array{gpk.OneHot(x, 3, gpk.Int8)}, gpk.ErrDType},
		"OneHot of -1":           {"OneHot", []*gpk.Array{gpk.OneHot(gpk.Zeros(gpk.Int8), -1, gpk.Int8)}, gpk.ErrShape},
		"ArangeStep by 0":        {"ArangeStep", []*gpk.Array{gpk.ArangeStep(gpk.Int8, 0, 1, 0)}, gpk.ErrShape},
		"ArangeStep to NaN":      {"ArangeStep", []*gpk.Array{gpk.ArangeStep(gpk.Float32, 0, math.NaN(), 1)}, gpk.ErrShape},
		"ArangeStep by half":     {"ArangeStep", []*gpk.Array{gpk.ArangeStep(gpk.Int8, 0, 2, 0.5)}, gpk.ErrDType},
		"ArangeStep of int8":     {"ArangeStep", []*gpk.Array{gpk.ArangeStep(gpk.Int8, 100, 130, 1)}, gpk.ErrDType},
		"Windows too long":       {"Windows", []*gpk.Array{x.Windows(7, 1)}, gpk.ErrShape},
		"Windows by 0":           {"Windows", []*gpk.Array{x.Windows(2, 1, 0)}, gpk.ErrShape},
		"AsStrided outside":      {"AsStrided", []*gpk.Array{x.AsStrided([]int{5, 6}, []int{6, 1})}, gpk.ErrShape},
		"AsStrided before":       {"AsStrided", []*gpk.Array{x.Slice(0, 1, 4).AsStrided([]int{1}, []int{1}, -1)}, gpk.ErrShape},
		"AsStrided far":          {"AsStrided", []*gpk.Array{x.AsStrided([]int{2}, []int{math.MinInt})}, gpk.ErrShape},
		"AsStrided of one":       {"AsStrided", []*gpk.Array{x.AsStrided([]int{2}, nil)}, gpk.ErrShape},
		"a failed operand":       {"Reshape", bad.Split(3, 0), gpk.ErrShape},
		"a nil operand":          {"Tile", []*gpk.Array{gpk.Tile(nil, 2)}, gpk.ErrShape},
	} {
		s.refusedAs(t, what, c.op, c.got, c.want)
	}
}

// refusedAs checks that arrays carry an error of an operation, on a line of this package.
func (s *suite) refusedAs(t *testing.T, what, op string, got []*gpk.Array, want error) {
	t.Helper()
	if len(got) == 0 {
		t.Errorf("%s: no array carries the error", what)
	}
	for _, a := range got {
		err := a.Err()
		var oe *gpk.OpError
		if !errors.Is(err, want) || !errors.As(err, &oe) {
			t.Errorf("%s: %v, want %v", what, err, want)
			return
		}
		if oe.Op != op || !strings.HasPrefix(oe.Site, "gpktest/") || strings.Contains(oe.Site, "_gen.go") {
			t.Errorf("%s: the error is of %s at %s: %v", what, oe.Op, oe.Site, err)
		}
	}
}
