package expr

import "github.com/gpk-go/gpk/dtype"

// Epilogue is a program of the form f(x s + b) of a leaf x: a product with a scalar s, the
// addition of a leaf b and a function f of one argument, in this order. Each of the three
// may be missing. Every step has the type of x.
type Epilogue struct {
	Scale, Bias int // indices of the scalar and the leaf, -1 for none
	Function    Op  // None for none
}

// Epilogue returns the program's steps as an Epilogue of one of its leaves. It reports
// false if the steps do not have this form.
func (p *Program) Epilogue(leaf uint8) (t Epilogue, ok bool) {
	t = Epilogue{Scale: -1, Bias: -1}
	at := Ref{Kind: ToLeaf, N: leaf}
	dt, steps := p.TypeOf(at), p.Steps
	next := func() {
		at = Ref{Kind: ToStep, N: uint8(len(p.Steps) - len(steps))}
		steps = steps[1:]
	}
	if len(steps) > 0 && steps[0].Op == Mul {
		r, found := steps[0].other(at, dt)
		if !found || r.Kind != ToScalar {
			return t, false
		}
		t.Scale = int(r.N)
		next()
	}
	if len(steps) > 0 && steps[0].Op == Add {
		r, found := steps[0].other(at, dt)
		if !found || r.Kind != ToLeaf {
			return t, false
		}
		t.Bias = int(r.N)
		next()
	}
	if len(steps) > 0 && steps[0].N == 1 && steps[0].Op != None && steps[0].Args[0] == at && steps[0].DType == dt {
		t.Function = steps[0].Op
		next()
	}
	return t, len(steps) == 0
}

// other returns the operand of a binary step of type dt that is not at. It reports false if
// none or both of the operands are at.
func (s *Step) other(at Ref, dt dtype.DType) (Ref, bool) {
	switch {
	case s.N != 2 || s.DType != dt:
		return Ref{}, false
	case s.Args[0] == at && s.Args[1] != at:
		return s.Args[1], true
	case s.Args[1] == at && s.Args[0] != at:
		return s.Args[0], true
	}
	return Ref{}, false
}
