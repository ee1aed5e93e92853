package nn_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dist"
	"github.com/gpk-go/gpk/interop/safetensors"
	"github.com/gpk-go/gpk/nn"
)

// TestParallelLoadErrors loads a file whose weights differ from the whole layer's in shape or type.
func TestParallelLoadErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	err := safetensors.WriteFile(path, map[string]*gpk.Array{
		"up.weight": gpk.Ones(gpk.Float32, 12, 4), "up.bias": gpk.Ones(gpk.Int32, 8),
		"down.weight": gpk.Ones(gpk.Float32, 4, 8), "more": gpk.Ones(gpk.Float32, 1),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ranks(t, 2, func(c *dist.Comm) error {
		p, err := nn.NewParallelMLP(c, nn.NewMLP(4, 8, nn.ReLU, true))
		if err != nil {
			return err
		}
		return loadBothWays(path, func(w nn.Weights) error {
			err := nn.Load(p, w, nn.LoadOptions{})
			for _, say := range []string{"up.weight is [12 4], not [8 4]", "up.bias is int32", "missing: down.bias [4]", "unexpected: more"} {
				if err == nil || !strings.Contains(err.Error(), say) {
					return fmt.Errorf("%v lacks %q", err, say)
				}
			}
			return nil
		})
	})
}

// loadBothWays calls load with the weights of a file, which a rank reads in part, and with weights that
// can only be read whole.
func loadBothWays(path string, load func(w nn.Weights) error) error {
	f, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := nn.FromFile(f)
	return errors.Join(load(w), load(struct{ nn.Weights }{w}))
}

// TestParallelRefusals checks the errors for sizes that the number of ranks does not divide, which give both
// numbers, and for nil layers and Comms.
func TestParallelRefusals(t *testing.T) {
	ranks(t, 3, func(c *dist.Comm) error {
		column, err1 := nn.NewColumnParallel(c, nn.NewLinear(6, 8, true))
		row, err2 := nn.NewRowParallel(c, nn.NewLinear(8, 6, true))
		mlp, err3 := nn.NewParallelMLP(c, nn.NewMLP(6, 11008, nn.SiLU, false))
		gated, err4 := nn.NewParallelGatedMLP(c, nn.NewGatedMLP(6, 8, nn.SiLU, false))
		heads, err5 := nn.NewParallelAttention(c, nn.NewMultiHeadAttention(6, 8, 8, 3, true))
		keys, err6 := nn.NewParallelAttention(c, nn.NewMultiHeadAttention(6, 6, 2, 3, true))
		if column != nil || row != nil || mlp != nil || gated != nil || heads != nil || keys != nil {
			return errors.New("a layer of sizes that 3 ranks do not divide")
		}
		for i, err := range []error{err1, err2, err3, err4, err5, err6} {
			say := []string{"3 does not divide 8", "3 does not divide 8", "up: shape: 11008 features cannot be divided among 3 ranks", "3 does not divide 8", "8 heads", "3 does not divide 2"}[i]
			if !errors.Is(err, gpk.ErrShape) || !strings.Contains(err.Error(), say) {
				return fmt.Errorf("%d: %v", i, err)
			}
		}
		_, err1 = nn.NewColumnParallel(nil, nn.NewLinear(1, 1, true))
		_, err2 = nn.NewParallelMLP(c, nil)
		part, err := nn.NewColumnParallel(c, nn.NewLinear(6, 9, true))
		_, err3 = nn.NewColumnParallel(c, part.Linear)
		for i, err := range []error{err1, err2, err3} {
			if !errors.Is(err, gpk.ErrUnsupported) {
				return fmt.Errorf("%d: %v", i, err)
			}
		}
		return err
	})
}

// TestParallelErrors checks that all ranks get an error that names the rank if one rank has an error or
// differs from the others, and that they can continue.
func TestParallelErrors(t *testing.T) {
	r := seeded(t)
	m, _ := filled(t, r, nn.NewMLP(6, 8, nn.GELU, true))
	_, x := values(r, 1, 12, 6)
	_, shorter := values(r, 1, 8, 6) // two chunks of 4 rows: as long as the first two of three
	failed := x.Add(gpk.Ones(gpk.Float32, 5))
	goroutines := runtime.NumGoroutine()
	ranks(t, 4, func(c *dist.Comm) error {
		p, err := nn.NewParallelMLP(c, m)
		if err != nil {
			return err
		}
		unset, err := nn.NewParallelMLP(c, nn.NewMLP(6, 8, nn.GELU, true))
		if err != nil {
			return err
		}
		for i, k := range []struct {
			x      *gpk.Array // argument of rank 2
			chunks int
			layer  *nn.ParallelMLP
			is     error
		}{
			{failed, 3, p, gpk.ErrShape},
			{gpk.Ones(gpk.Float32, 12, 7), 3, p, gpk.ErrShape},
			{gpk.Ones(gpk.Int32, 12, 6), 3, p, gpk.ErrDType},
			{x, 3, unset, gpk.ErrUnsupported},
			{x, 2, p, gpk.ErrShape},
			{shorter, 2, p, gpk.ErrShape},
			{gpk.Ones(gpk.Float32, 11, 6), 3, p, gpk.ErrShape},
		} {
			layer, in := p, x
			p.Down.Chunks = 3
			if c.Rank() == 2 {
				layer, in, p.Down.Chunks = k.layer, k.x, k.chunks
			}
			y := layer.Forward(in)
			var of *dist.RankError
			if err := y.Err(); !errors.Is(err, k.is) || !errors.As(err, &of) || of.Rank != 2 {
				return fmt.Errorf("%d: rank %d: %v", i, c.Rank(), err)
			}
			p.Down.Chunks = 3
			if err := closeTo(p.Forward(x), m.Forward(x), 1e-5); err != nil {
				return fmt.Errorf("%d: afterwards: %w", i, err)
			}
		}
		return nil
	})
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > goroutines; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
		}
	}
}

// TestParallelScope checks that the arrays of parallel layers are freed with the scope of their input, except
// those that are kept.
func TestParallelScope(t *testing.T) {
	r := seeded(t)
	m, _ := filled(t, r, nn.NewMLP(32, 64, nn.GELU, true))
	_, x := values(r, 1, 100, 32)
	ranks(t, 2, func(c *dist.Comm) error {
		p, err := nn.NewParallelMLP(c, m)
		if err != nil {
			return err
		}
		for _, chunks := range []int{1, 4} {
			p.Down.Chunks = chunks
			s := gpk.NewScope()
			y := p.Forward(s.In(x))
			kept := s.Keep(p.Forward(s.In(x)))
			if err := errors.Join(gpk.Eval(y), s.Close()); err != nil {
				return err
			}
			if err := y.Err(); !errors.Is(err, gpk.ErrFreed) {
				return fmt.Errorf("%d chunks: after Close of the scope: %v", chunks, err)
			}
			if err := closeTo(kept, m.Forward(x), 1e-5); err != nil {
				return err
			}
			kept.Free()
		}
		return nil
	})
}
