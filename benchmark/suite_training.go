package main

import (
	"errors"

	"github.com/gpk-go/gpk"
)

// The numbers of steps that are timed, and of steps after which the outputs are compared.
const (
	trainingCalls   = 3000
	trainingChecked = 30
)

// trainingCases measure the cost of a program's form: a training step with and without a
// scope, and a product read by three lines with and without an Eval before them. The
// times of each pair should be equal. The last case is a sum that the program does not
// free; NumPy frees it with its last reference.
func trainingCases(o options, _ bool) ([]benchCase, error) {
	if len(o.shapes) > 0 || len(o.precisions) > 0 {
		return nil, errors.New("-sizes, -dtypes: suite training takes neither flag; leave them out")
	}
	return []benchCase{
		{name: "Training/step=dropped", run: func(r *runner) ([]result, error) { return trainingStep(r, false) }},
		{name: "Training/step=scope", run: func(r *runner) ([]result, error) { return trainingStep(r, true) }},
		{name: "Reuse/read=lines/m=1024/k=1024/n=1024", run: func(r *runner) ([]result, error) { return readLines(r, false) }},
		{name: "Reuse/read=eval/m=1024/k=1024/n=1024", run: func(r *runner) ([]result, error) { return readLines(r, true) }},
		{name: "Drop/op=add/dtype=fp32/n=1000000", run: dropSums},
	}, nil
}

// training is a perceptron whose weights are updated in place.
type training struct{ x, y, w1, w2, b1, b2 *gpk.Array }

func newTraining(in perceptron, n int) *training {
	dt := gpk.Float32
	return &training{
		x: upload(dt, values{re: in.x}, n, perceptronIn), y: upload(dt, values{re: in.y}, n, perceptronOut),
		w1: upload(dt, values{re: in.w1}, perceptronIn, perceptronHidden), w2: upload(dt, values{re: in.w2}, perceptronHidden, perceptronOut),
		b1: gpk.Zeros(dt, perceptronHidden), b2: gpk.Zeros(dt, perceptronOut),
	}
}

func (m *training) free() { arrays{m.x, m.y, m.w1, m.w2, m.b1, m.b2}.free() }

// logits are the outputs of both layers for x.
func (m *training) logits(x *gpk.Array) (h, out *gpk.Array) {
	h = x.MatMul(m.w1, gpk.FullPrecision).Add(m.b1).ReLU()
	return h, h.MatMul(m.w2, gpk.FullPrecision).Add(m.b2)
}

// gradients returns the gradients of w1, b1, w2 and b2, multiplied by minus the learning
// rate.
func (m *training) gradients(x *gpk.Array) []*gpk.Array {
	h, out := m.logits(x)
	d := out.Softmax(1).Sub(m.y).Div(x.Shape()[0]) // gradient with respect to the logits
	dh := d.MatMul(m.w2.T(), gpk.FullPrecision).Mul(h.Gt(0).Cast(gpk.Float32))
	return []*gpk.Array{
		x.T().MatMul(dh, gpk.FullPrecision).Mul(-perceptronRate), dh.Sum(0).Mul(-perceptronRate),
		h.T().MatMul(d, gpk.FullPrecision).Mul(-perceptronRate), d.Sum(0).Mul(-perceptronRate),
	}
}

func (m *training) update(gradients []*gpk.Array) error {
	var errs []error
	for i, w := range []*gpk.Array{m.w1, m.b1, m.w2, m.b2} {
		errs = append(errs, w.AddInPlace(gradients[i]))
	}
	return errors.Join(errs...)
}

// step runs one training step. With a scope, the scope keeps the gradients.
func (m *training) step(scope bool) error {
	if !scope {
		return m.update(m.gradients(m.x))
	}
	s := gpk.NewScope()
	gradients := m.gradients(s.In(m.x))
	for i, g := range gradients {
		gradients[i] = s.Keep(g)
	}
	if err := s.Close(); err != nil {
		return err
	}
	defer arrays(gradients).free()
	return m.update(gradients)
}

func trainingStep(r *runner, scope bool) ([]result, error) {
	const n = 256
	in := newPerceptron(mustPrecision("fp32"), n)
	m := newTraining(in, n)
	defer m.free()
	want := wantPerceptron(in, n, trainingChecked)
	short := *r
	if short.iterations == 0 {
		short.iterations = trainingCalls
	}
	return short.hostRounds(perceptronProgram.bound32, func() error { return m.step(scope) }, func() (deviation, error) {
		again := newTraining(in, n)
		defer again.free()
		for range trainingChecked {
			if err := again.step(scope); err != nil {
				return deviation{}, err
			}
		}
		_, out := again.logits(again.x)
		got, err := download(out)
		return deviationOf(got, values{re: want[0]}), err
	})
}

// readLines reads a product and its bias in three lines.
func readLines(r *runner, eval bool) ([]result, error) {
	const n = 1024
	p := mustPrecision("bf16")
	in := p.random(r.seed, 1, n*n, normal)
	a, b := upload(p.dtype, in, n, n), gpk.Ones(p.dtype, n)
	defer arrays{a, b}.free()
	ops := operands{a: in, b: in, s: cube(n)}
	rows := sampleRows(r.seed, ops.s, 1)
	want := ops.rows(rows)
	lines := func() (arrays, error) {
		z := r.lib.MatMul(a, a).Add(b)
		out := arrays{z, z.ReLU(), z.Mul(2), z.Sum(0)}
		if eval {
			out = arrays{z}
			if err := gpk.Eval(z); err != nil {
				return out, err
			}
			out = append(out, z.ReLU(), z.Mul(2), z.Sum(0))
		}
		return out, gpk.Eval(out[1:]...)
	}
	short := *r
	if short.iterations == 0 {
		short.iterations = trainingCalls
	}
	return short.hostRounds(p.bound, func() error {
		out, err := lines()
		out.free()
		return err
	}, func() (deviation, error) {
		out, err := lines()
		if err != nil {
			return deviation{}, err
		}
		defer out.free()
		got, err := sampledRows(out[2].Div(2).Sub(b), n, rows)
		return deviationOf(got, want), err
	})
}

// dropSums computes x + y and drops the result, whose memory is freed after a garbage
// collection.
func dropSums(r *runner) ([]result, error) {
	const n = 1_000_000
	p := mustPrecision("fp32")
	in := p.random(r.seed, 1, n, normal)
	x, y := upload(p.dtype, in, n), gpk.Ones(p.dtype, n)
	defer arrays{x, y}.free()
	want := values{re: make([]float64, n)}
	for i, v := range in.re {
		want.re[i] = v + 1
	}
	short := *r
	if short.iterations == 0 {
		short.iterations = trainingCalls
	}
	return short.hostRounds(p.bound, func() error { return gpk.Eval(x.Add(y)) }, func() (deviation, error) {
		got, err := download(x.Add(y))
		return deviationOf(got, want), err
	})
}
