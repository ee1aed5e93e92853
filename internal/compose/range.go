package compose

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// Index returns a view with one index for each of the leading axes. An index is an int, whose axis the view does
// not have; gpk.Range(start, stop, step), as Python's slice, clipped to the axis; or gpk.All, the whole axis. Axes
// without an index are whole: x.Index(gpk.Range(2, gpk.End), gpk.All, 3). Negative numbers count from the end. An
// int outside its axis, more indices than axes and a step of 0 are ErrShape, and any other index is ErrUnsupported.
//
//gpk:row To other places | the same | all | a view of an index, a range or all of each leading axis, as Python's x[2:, :, 3]
func Index[A Operand](o Operation[A], a A, index ...any) A {
	if err := checkIndices(o, a, len(index)); err != nil {
		return o.Failed(err)
	}
	return o.View(a, func(l layout.Layout) (layout.Layout, error) {
		l = layout.Layout{Shape: append([]int{}, l.Shape...), Strides: append([]int{}, l.Strides...), Offset: l.Offset}
		axis := 0
		for d, v := range index {
			n := l.Shape[axis]
			var err error
			switch v := v.(type) {
			case layout.Range:
				l, err = l.Indexed(axis, v)
				axis++
			case int:
				if v < -n || v >= n {
					return l, layout.Errorf("index %d lies outside axis %d, which has length %d", v, d, n)
				}
				if l, err = l.Slice(axis, v, (v+n)%n+1, 1); err == nil {
					l, err = l.Squeeze([]int{axis})
				}
			default:
				if !isAll(v) {
					return l, fmt.Errorf("%w: index %d is a %T, not an int, a gpk.Range or gpk.All; Take, IndexSelect and MaskedSelect select by arrays", expr.ErrUnsupported, d, v)
				}
				axis++
			}
			if err != nil {
				return l, err
			}
		}
		return l, nil
	})
}

// isAll reports whether an index is gpk.All, the reduction, which as an index stands for the whole axis.
func isAll(index any) bool {
	f := reflect.ValueOf(index)
	if f.Kind() != reflect.Func || f.IsNil() {
		return false
	}
	name := runtime.FuncForPC(f.Pointer()).Name()
	return strings.HasSuffix(name, "/gpk.All")
}
