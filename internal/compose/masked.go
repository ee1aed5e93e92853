package compose

import (
	"slices"

	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// Masked returns a copy of a with values where a mask is true, as Array.MaskedSet assigns them.
//
//gpk:step
func Masked[A Operand](o Operation[A], a, mask A, values any) A {
	err := o.Check()
	if err == nil {
		err = maskFor(a, mask)
	}
	if err != nil {
		return o.Failed(err)
	}
	shape := a.Shape()
	rest := shape[mask.NDim():]
	if _, ok := values.(A); ok {
		v, err := valuesOf(o, a, values)
		if err != nil {
			return o.Failed(err)
		}
		if vs := v.Shape(); len(vs) == len(rest)+1 && vs[0] != 1 {
			return maskedList(o, a, mask, v, rest)
		}
		if v, err = oneValue(o, a, v, rest); err != nil {
			return o.Failed(err)
		}
		values = v
	}
	wide := reshape(o, mask, slices.Concat(mask.Shape(), slices.Repeat([]int{1}, len(rest)))...)
	return o.Elementwise(expr.Where, wide, values, a)
}

// oneValue returns the view of values that every true element of a mask is assigned.
func oneValue[A Operand](o Operation[A], a, v A, rest []int) (A, error) {
	one := v
	if shape := v.Shape(); len(shape) == len(rest)+1 { // the first axis has length 1
		one = reshape(o, v, shape[1:]...)
	}
	if !layout.Widens(one.Shape(), rest) {
		return v, misfit(a, v, rest)
	}
	return one, one.Err()
}

// misfit returns the error of values whose shape fits neither one true element, which has shape rest, nor several.
func misfit[A Operand](a, v A, rest []int) error {
	each := []any{"n"}
	for _, n := range rest {
		each = append(each, n)
	}
	remedy := ""
	if slices.Equal(v.Shape(), a.Shape()) {
		remedy = "; values.MaskedSelect(mask) has one for each"
	}
	return layout.Errorf("values of shape %v; want a shape that broadcasts to %v (one value for all true elements) or to %v (one for each of n)%s", v.Shape(), rest, each, remedy)
}

// maskedList is Masked for one value, or one part, for each true element of the mask. It waits for their number.
func maskedList[A Operand](o Operation[A], a, mask, v A, rest []int) A {
	given := v.Shape()[0]
	if shape := v.Shape()[1:]; !layout.Widens(shape, rest) {
		return o.Failed(misfit(a, v, rest))
	}
	count, err := o.Wait(o.Reduce(expr.Sum, mask, nil))
	if err == nil && int(count[0]) != given {
		err = layout.Errorf("%d values for the %d true elements of a mask", given, count[0])
	}
	if err != nil {
		return o.Failed(err)
	}
	if given == 0 || a.Size() == 0 {
		return o.Cast(a, a.DType())
	}
	flat := reshape(o, mask, mask.Size())
	place := o.Elementwise(expr.Maximum, o.Elementwise(expr.Sub, cumulated(o, flat), 1), 0)
	x := reshape(o, a, slices.Concat([]int{mask.Size()}, rest)...)
	v = o.View(v, func(l layout.Layout) (layout.Layout, error) { return l.BroadcastTo(slices.Concat([]int{given}, rest)) })
	wide := reshape(o, flat, slices.Concat([]int{mask.Size()}, slices.Repeat([]int{1}, len(rest)))...)
	return reshape(o, o.Elementwise(expr.Where, wide, take(o, v, place, 0, nil), x), a.Shape()...)
}
