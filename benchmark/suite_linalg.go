package main

import (
	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/linalg"
)

var factorList = []batchCase{
	{"cholesky", "fp32", 1, 4096},
	{"cholesky", "fp32", 1, 16384},
	{"cholesky", "fp64", 1, 4096},
	{"cholesky", "fp64", 1, 16384},
	{"cholesky", "fp32", 10000, 32},
	{"positive", "fp64", 1, 20000},
	{"lu", "fp32", 1, 4096},
	{"qr", "fp32", 1, 4096},
	{"eigh", "fp32", 1, 1024},
	{"svd", "fp32", 1, 1024},
}

// factorOps lists the factorizations: call returns the results for a (and, for systems of
// equations, b), apply the product of a with x computed from them.
var factorOps = map[string]struct {
	call  func(a, b *gpk.Array) arrays
	apply func(f arrays, x *gpk.Array) *gpk.Array
}{
	"cholesky": {
		func(a, _ *gpk.Array) arrays { return arrays{linalg.Cholesky(a)} },
		func(f arrays, x *gpk.Array) *gpk.Array { return f[0].MatMul(f[0].T().MatMul(x)) },
	},
	// The system a y = b of a positive definite matrix, with the solution in float64. apply
	// returns y; measure passes b, the product of a with x.
	"positive": {
		func(a, b *gpk.Array) arrays {
			y, _ := linalg.Refine(a, b, linalg.Positive)
			return arrays{y}
		},
		nil,
	},
	"lu": {
		func(a, _ *gpk.Array) arrays {
			order, l, u := linalg.LU(a)
			return arrays{order, l, u}
		},
		func(f arrays, x *gpk.Array) *gpk.Array { return f[1].MatMul(f[2].MatMul(x)) },
	},
	"qr": {
		func(a, _ *gpk.Array) arrays {
			q, r := linalg.QR(a)
			return arrays{q, r}
		},
		func(f arrays, x *gpk.Array) *gpk.Array { return f[0].MatMul(f[1].MatMul(x)) },
	},
	"eigh": {
		func(a, _ *gpk.Array) arrays {
			values, z := linalg.Eigh(a)
			return arrays{values, z}
		},
		func(f arrays, x *gpk.Array) *gpk.Array {
			return f[1].MatMul(f[0].Unsqueeze(-1).Mul(f[1].T().MatMul(x)))
		},
	},
	"svd": {
		func(a, _ *gpk.Array) arrays {
			u, s, vh := linalg.SVD(a)
			return arrays{u, s, vh}
		},
		func(f arrays, x *gpk.Array) *gpk.Array { return f[0].MatMul(f[1].Unsqueeze(-1).Mul(f[2].MatMul(x))) },
	},
}

// factorCases are factorizations of random matrices. -sizes is the side of all of them, in small
// batches.
func factorCases(o options, _ bool) ([]benchCase, error) {
	return batchCases(o, "linalg", "Linalg", factorList, batchCase.measureFactor)
}

// matrix returns the matrix to factor: normal numbers G for lu, qr and svd, otherwise G G^T / n
// + 1, which is positive definite with a condition number below 6.
func (c batchCase) matrix(r *runner, p precision) *gpk.Array {
	g := gpk.NewRNG(r.seed).Normal(p.dtype, 0, 1, c.batch, c.n, c.n)
	switch c.op {
	case "lu", "qr", "svd":
		return g
	}
	defer g.Free()
	a := g.MatMul(g.T(), gpk.FullPrecision).Div(c.n).Add(gpk.Eye(p.dtype, c.n))
	return a.Contiguous()
}

func (c batchCase) measureFactor(r *runner) ([]result, error) {
	op, p := factorOps[c.op], mustPrecision(c.dtype)
	p.bound = 4 * float64(c.n) * 0x1p-52 // 4 n eps, the backward error of a stable factorization
	if p.dtype == gpk.Float32 {
		p.bound = 4 * float64(c.n) * 0x1p-23
	}
	a := c.matrix(r, p)
	if c.batch == 1 {
		a = a.Squeeze(0)
	}
	var as, last arrays
	defer func() { as.free(); last.free() }()
	as.keep(a)
	b := as.keep(gpk.NewRNG(r.seed+1).Normal(p.dtype, 0, 1, c.n, 1))
	wide := func(x *gpk.Array) *gpk.Array {
		if x.DType() == gpk.Int64 {
			return x
		}
		return x.Cast(gpk.Float64)
	}
	if err := gpk.Eval(as...); err != nil {
		return nil, err
	}
	x := as.keep(wide(b))
	product, err := download(wide(a).MatMul(x))
	if c.op == "positive" {
		product, err = download(b)
	}
	if err != nil {
		return nil, err
	}
	return r.time(trial{
		sets: 1,
		call: func(int) error {
			last.free()
			last = op.call(a, b)
			return gpk.Eval(last...)
		},
		check: func(int) (deviation, error) {
			if op.apply == nil {
				got, err := download(a.MatMul(last[0]))
				return deviationOf(got, product), err
			}
			f := make(arrays, len(last))
			for i, v := range last {
				f[i] = wide(v)
			}
			y := op.apply(f, x)
			if c.op == "lu" { // rows of a in the order of the pivots
				got, err := download(y)
				if err != nil {
					return deviation{}, err
				}
				order, err := gpk.ToSlice[int64](last[0])
				want := values{re: make([]float64, len(order))}
				for i, row := range order {
					want.re[i] = product.re[row]
				}
				return deviationOf(got, want), err
			}
			got, err := download(y)
			return deviationOf(got, product), err
		},
	}, work{}, p)
}
