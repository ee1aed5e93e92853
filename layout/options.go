package layout

import "github.com/gpk-go/gpk/internal/enum"

// KeepDims among the axes of a reduction is an option, not an axis: the result keeps the
// reduced axes, with length 1. KeepDims and the values of DDof are far outside the range of
// axes.
const KeepDims = -1 << 31

// AllAxes stands for all axes in an operation with a single axis.
const AllAxes = KeepDims + 1

// A DDof of n is ddofZero + n, with n between -ddofLimit and ddofLimit.
const (
	ddofZero  = -1 << 30
	ddofLimit = 1 << 28
)

// DDof returns an option for Var and Std, which is passed among their axes. It sets the
// delta degrees of freedom to n: the sum of squares is divided by the number of elements
// minus n.
func DDof(n int) int { return ddofZero + max(-ddofLimit-1, min(n, ddofLimit+1)) }

// Reduction holds the axes and the options of a reduction.
type Reduction struct {
	Axes  []int // nil for all
	Keep  bool
	DDof  int
	Given bool // whether DDof was given
}

// ReductionOf separates a list into axes and options. A list of options alone means all
// axes, as nil does. An empty list that is not nil means no axis. ReductionOf allocates
// nothing for a list without options.
func ReductionOf(axes []int) (Reduction, error) {
	r := Reduction{Axes: axes}
	options := 0
	for _, x := range axes {
		switch {
		case isDDof(x) && r.Given:
			return r, Errorf("DDof is given twice")
		case isDDof(x):
			if r.DDof, r.Given = x-ddofZero, true; r.DDof > ddofLimit || r.DDof < -ddofLimit {
				return r, Errorf("a DDof beyond %d", ddofLimit)
			}
			options++
		case x == KeepDims || x == AllAxes:
			r.Keep = r.Keep || x == KeepDims
			options++
		}
	}
	if options == 0 {
		return r, nil
	}
	r.Axes = nil
	for _, x := range axes {
		if x != KeepDims && x != AllAxes && !isDDof(x) {
			r.Axes = append(r.Axes, x)
		}
	}
	return r, nil
}

func isDDof(x int) bool { return x >= ddofZero-ddofLimit-1 && x <= ddofZero+ddofLimit+1 }

// Kept returns a shape in which the axes of a set have length 1.
func Kept(shape []int, set []bool) []int {
	out := make([]int, len(shape))
	for d, n := range shape {
		if out[d] = n; set[d] {
			out[d] = 1
		}
	}
	return out
}

// PadMode is a rule for the elements that Pad adds.
type PadMode uint8

// The modes of Pad. The examples pad a, b, c by two elements on each side.
const (
	PadEdge      PadMode = iota + 1 // the nearest element: a a|a b c|c c
	PadReflect                      // mirrored at the outermost elements: c b|a b c|b a
	PadSymmetric                    // mirrored beyond the outermost elements: b a|a b c|c b
	PadWrap                         // from the other end: b c|a b c|a b
)

// String returns the name of a mode.
func (m PadMode) String() string {
	return enum.Name(m, "PadMode", "PadMode(0)", "PadEdge", "PadReflect", "PadSymmetric", "PadWrap")
}

// Period returns the distance at which elements repeat along an axis of n elements, which is padded by a mode other than
// PadEdge. mirrored is the number of elements that one mirror image adds, 0 for PadWrap. One element repeats itself.
func (m PadMode) Period(n int) (period, mirrored int) {
	switch {
	case m == PadWrap || n == 1:
		return n, 0
	case m == PadReflect:
		return 2*n - 2, n - 1
	}
	return 2 * n, n
}
