package expr

import (
	"testing"

	"github.com/gpk-go/gpk/dtype"
)

// TestEpilogue lists programs of leaf 0 that are epilogues, and similar ones that are not.
func TestEpilogue(t *testing.T) {
	const f32 = dtype.Float32
	leaf := func(n uint8) Ref { return Ref{ToLeaf, n} }
	scalar := func(n uint8) Ref { return Ref{ToScalar, n} }
	at := func(n uint8) Ref { return Ref{ToStep, n} }
	step := func(op Op, args ...Ref) Step {
		s := Step{Op: op, DType: f32, N: len(args)}
		copy(s.Args[:], args)
		return s
	}
	typed := func(dt dtype.DType, s Step) Step {
		s.DType = dt
		return s
	}
	for name, c := range map[string]struct {
		steps []Step
		want  Epilogue
		ok    bool
	}{
		"nothing":           {nil, Epilogue{-1, -1, None}, true},
		"scale":             {[]Step{step(Mul, leaf(0), scalar(1))}, Epilogue{1, -1, None}, true},
		"scale on the left": {[]Step{step(Mul, scalar(0), leaf(0))}, Epilogue{0, -1, None}, true},
		"bias":              {[]Step{step(Add, leaf(0), leaf(1))}, Epilogue{-1, 1, None}, true},
		"bias on the left":  {[]Step{step(Add, leaf(2), leaf(0))}, Epilogue{-1, 2, None}, true},
		"function":          {[]Step{step(GELU, leaf(0))}, Epilogue{-1, -1, GELU}, true},
		"all":               {[]Step{step(Mul, leaf(0), scalar(0)), step(Add, at(0), leaf(1)), step(ReLU, at(1))}, Epilogue{0, 1, ReLU}, true},
		"all but bias":      {[]Step{step(Mul, leaf(0), scalar(0)), step(ReLU, at(0))}, Epilogue{0, -1, ReLU}, true},

		"leaf as scale":       {steps: []Step{step(Mul, leaf(0), leaf(1))}},
		"number as bias":      {steps: []Step{step(Add, leaf(0), scalar(0))}},
		"square":              {steps: []Step{step(Mul, leaf(0), leaf(0))}},
		"doubled":             {steps: []Step{step(Add, leaf(0), leaf(0))}},
		"of another leaf":     {steps: []Step{step(ReLU, leaf(1))}},
		"of another sum":      {steps: []Step{step(Add, leaf(1), leaf(2))}},
		"bias, then scale":    {steps: []Step{step(Add, leaf(0), leaf(1)), step(Mul, at(0), scalar(0))}},
		"function, then bias": {steps: []Step{step(ReLU, leaf(0)), step(Add, at(0), leaf(1))}},
		"two functions":       {steps: []Step{step(ReLU, leaf(0)), step(ReLU, at(0))}},
		"a cast":              {steps: []Step{step(None, leaf(0))}},
		"another type":        {steps: []Step{typed(dtype.Float64, step(ReLU, leaf(0)))}},
		"a sum's type":        {steps: []Step{typed(dtype.Float64, step(Add, leaf(0), leaf(1)))}},
		"a difference":        {steps: []Step{step(Sub, leaf(0), leaf(1))}},
	} {
		p := Program{Leaves: []Leaf{{DType: f32}, {DType: f32}, {DType: f32}}, Scalars: []dtype.DType{f32, f32}, Steps: c.steps}
		if got, ok := p.Epilogue(0); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}
