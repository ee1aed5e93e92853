package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/interop/npy"
	"github.com/gpk-go/gpk/quantum"
)

// readArray reads a .npy file. It returns when ctx ends, even if the file is a pipe that nobody
// writes to.
func readArray(ctx context.Context, path string) (*gpk.Array, error) {
	type result struct {
		a   *gpk.Array
		err error
	}
	done := make(chan result, 1)
	go func() {
		a, err := npy.ReadFile(path)
		if op, ok := errors.AsType[*gpk.OpError](err); ok { // its line is in this program, not in the user's
			err = fmt.Errorf("%s: %w", path, withoutSite(op))
		}
		done <- result{a, err}
	}()
	select {
	case r := <-done:
		return r.a, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", path, context.Cause(ctx))
	}
}

// samples reads x and y.
func (f *gramFlags) samples(ctx context.Context) (x, y *gpk.Array, err error) {
	read := func(path string) (*gpk.Array, error) {
		a, err := readArray(ctx, path)
		if err != nil {
			return nil, err
		}
		if a.NDim() != 2 {
			return nil, fmt.Errorf("%s: %w: shape %v, not [samples, features]", path, gpk.ErrShape, a.Shape())
		}
		if a.DType() != gpk.Float32 && a.DType() != gpk.Float64 {
			return nil, fmt.Errorf("%s: %w: %v, not float32 or float64", path, gpk.ErrDType, a.DType())
		}
		return a, nil
	}
	if x, err = read(f.x); err != nil {
		return nil, nil, err
	}
	if f.y == "" {
		return x, nil, nil
	}
	if y, err = read(f.y); err != nil {
		return nil, nil, err
	}
	// The circuit is made for x and would ignore further features of y.
	if n, m := x.Shape()[1], y.Shape()[1]; n != m {
		return nil, nil, fmt.Errorf("%s: %w: %d features, %s has %d", f.y, gpk.ErrShape, m, f.x, n)
	}
	return x, y, nil
}

// build makes the circuit for a number of features.
func (f *gramFlags) build(ctx context.Context, features int) (*quantum.Circuit, error) {
	if features == 0 {
		return nil, fmt.Errorf("%s: %w: no features", f.x, gpk.ErrShape)
	}
	var c *quantum.Circuit
	switch strings.ToLower(f.circuit) {
	case "z":
		c = quantum.ZFeatureMap(features, f.layers)
	case "zz":
		c = quantum.ZZFeatureMap(features, f.layers)
	default:
		w, err := f.weightRows(ctx, features)
		if err != nil {
			return nil, err
		}
		o := quantum.EntanglerOptions{Embedding: quantum.RYRZ, Reupload: f.reupload, Scale: f.scale}
		if strings.EqualFold(f.embedding, "ry") {
			o.Embedding = quantum.RY
		}
		c = quantum.BasicEntangler(w, o)
	}
	if err := c.Err(); err != nil {
		if f.weights != "" {
			return nil, fmt.Errorf("-weights %s: %w", f.weights, withoutSite(err))
		}
		if errors.Is(err, gpk.ErrUnsupported) { // there are too many gates
			return nil, fmt.Errorf("%s -layers %d: %w", f.subject, f.layers, withoutSite(err))
		}
		return nil, fmt.Errorf("%s: %w", f.subject, withoutSite(err))
	}
	return c, nil
}

// maxWeights is the maximum number of weights that are drawn at random. A circuit with as many
// gates is refused.
const maxWeights = 1 << 22

// weightRows reads the weights, or draws them at random.
func (f *gramFlags) weightRows(ctx context.Context, features int) ([][]float64, error) {
	if f.weights == "" {
		if f.layers > maxWeights/features {
			return nil, fmt.Errorf("-layers %d: %w: more than %d weights for %d features", f.layers, gpk.ErrUnsupported, maxWeights, features)
		}
		rows := make([][]float64, f.layers)
		rng := rand.New(rand.NewPCG(f.seed, 0))
		for i := range rows {
			for range features {
				rows[i] = append(rows[i], 2*math.Pi*rng.Float64())
			}
		}
		return rows, nil
	}
	a, err := readArray(ctx, f.weights)
	if err != nil {
		return nil, err
	}
	if s := a.Shape(); len(s) != 2 || s[0] == 0 || s[1] != features {
		return nil, fmt.Errorf("%s: %w: shape %v, not [layers, %d] for %d features", f.weights, gpk.ErrShape, s, features, features)
	}
	if a.DType() != gpk.Float32 && a.DType() != gpk.Float64 {
		return nil, fmt.Errorf("%s: %w: %v, not float32 or float64", f.weights, gpk.ErrDType, a.DType())
	}
	data, err := gpk.ToSlice[float64](a.Cast(gpk.Float64))
	if err != nil {
		return nil, err
	}
	var rows [][]float64
	for len(data) > 0 {
		rows, data = append(rows, data[:features]), data[features:]
	}
	return rows, nil
}

func scaled(x *gpk.Array, s float64) *gpk.Array { return x.Cast(gpk.Float64).Mul(s) }
