package dist

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/gpk-go/gpk"
)

// TestScopes checks that the result of every collective function is freed with the scope of its operand
// unless it is kept.
func TestScopes(t *testing.T) {
	local(t, 2, func(_ context.Context, c *Comm) error {
		for i, f := range []func(a *gpk.Array) *gpk.Array{
			func(a *gpk.Array) *gpk.Array { return c.AllReduce(a, Sum) },
			func(a *gpk.Array) *gpk.Array { return c.AllGather(a, 1) },
			func(a *gpk.Array) *gpk.Array { return c.ReduceScatter(a, Sum, -1) },
			func(a *gpk.Array) *gpk.Array { return c.Broadcast(a, 1) },
			func(a *gpk.Array) *gpk.Array { return c.AllToAll(a, 0) },
		} {
			a := gpk.Ones(gpk.Float32, 2, 2)
			var freed, kept *gpk.Array
			err := gpk.Scoped(func(s *gpk.Scope) error {
				freed, kept = f(s.In(a)), s.Keep(f(s.In(a)))
				return errors.Join(freed.Err(), kept.Err())
			})
			if err != nil {
				return err
			}
			if outside := f(a); outside.Err() != nil {
				return outside.Err()
			}
			if err := freed.Err(); !errors.Is(err, gpk.ErrFreed) {
				return fmt.Errorf("function %d: after Close of the scope: %v", i, err)
			}
			if v, err := gpk.ToSlice[float32](kept); err != nil || len(v) == 0 || v[0] < 1 {
				return fmt.Errorf("function %d: kept: %v, %v", i, v, err)
			}
		}
		return nil
	})
}
