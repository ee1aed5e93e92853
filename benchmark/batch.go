package main

import (
	"errors"
	"fmt"
)

// batchCase is an operation on a batch of vectors or matrices of side n.
type batchCase struct {
	op, dtype string // dtype is the type of the operand; for irfft, of the result
	batch, n  int
}

// oneSize returns the side of -sizes, or 0. The suite takes one size, and no types.
func (o options) oneSize(suite string) (int, error) {
	ns, err := o.cubesOr(suite, 0)
	if err == nil && (len(o.precisions) > 0 || len(ns) > 1) {
		err = errors.New("-sizes, -dtypes: suite " + suite + " takes one size N, and no types")
	}
	if err != nil {
		return 0, err
	}
	return ns[0], nil
}

// batchCases returns the cases of a list or, with -sizes, small batches of that one size.
func batchCases(o options, suite, name string, list []batchCase, measure func(c batchCase, r *runner) ([]result, error)) ([]benchCase, error) {
	n, err := o.oneSize(suite)
	if err != nil {
		return nil, err
	}
	var cs []benchCase
	for _, c := range list {
		if n > 0 {
			c.batch, c.n = min(c.batch, 4), n
		}
		cs = append(cs, benchCase{
			name: fmt.Sprintf("%s/op=%s/dtype=%s/batch=%d/n=%d", name, c.op, c.dtype, c.batch, c.n),
			run:  func(r *runner) ([]result, error) { return measure(c, r) },
		})
	}
	return cs, nil
}
