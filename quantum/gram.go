package quantum

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/callsite"
	"github.com/gpk-go/gpk/internal/deviceapi"
)

// Result is a Gram matrix and the report of its computation.
type Result struct {
	K      *gpk.Array // [n, m] float32, float64 for Double; nil if Options.Output, Group or Shard is set
	Tiles  []Tile     // those of this rank, if Options.Group is set and File is not
	Plan   Plan
	Report Report // report of the tiles of this call; mean, deviation and diagonal are those of all ranks of a Group

	Complete bool // with Options.File: all ranks are done, and the file has its final name
}

// Gram returns K[i][j] = |<psi(x_i)|psi(y_j)>|^2 for the samples x [n, features] and y [m,
// features], float32 or float64, on x's device. With a nil y it is the symmetric matrix of
// x with itself. It equals its transpose bit for bit. Its diagonal is exactly 1 (plus
// Jitter); the computed values of the diagonal are checked against the precision.
//
// Errors: the circuit's; ErrShape and ErrDType for an invalid x or y; ErrNonFinite with row
// and column; ErrOutOfMemory if not even one tile fits into the budget; the context's
// error, after which no memory remains allocated. A nil context is ErrUnsupported.
func Gram(ctx context.Context, c *Circuit, x, y *gpk.Array, o Options) (_ *Result, err error) {
	defer failed(&err, callsite.Here(), "Gram")
	if ctx == nil {
		return nil, errNoContext
	}
	begun := time.Now()
	if err := o.check(); err != nil {
		return nil, err
	}
	k, err := compileGram(c, o.Path)
	if err != nil {
		return nil, err
	}
	j := &job{kernel: k, options: o}
	if j.x, err = readSamples("x", x, k.features); err != nil {
		return nil, err
	}
	defer j.x.free()
	j.dev = x.Device()
	j.y = j.x
	columns := 0
	if y != nil {
		if j.y, err = readSamples("y", y, k.features); err != nil {
			return nil, err
		}
		defer j.y.free()
		if y.Device() != j.dev {
			return nil, fmt.Errorf("%w: x is on %v, y on %v; move one with To", gpk.ErrDevice, j.dev, y.Device())
		}
		columns = j.y.n
	}
	e, err := engineFor(j.dev)
	if err != nil {
		return nil, err
	}
	if err := j.budget(&o); err != nil {
		return nil, err
	}
	if o.ranked() {
		j.options = o
		return j.ranked(ctx, e, c, y != nil, begun)
	}
	if err := j.choosePlan(o, columns, y == nil); err != nil {
		return nil, err
	}
	total := int64(j.x.n) * int64(j.y.n)
	if j.symmetric() {
		total = int64(j.x.n) * int64(j.x.n+1) / 2
	}
	return j.run(ctx, e, total, begun)
}

// errNoContext is the error of a nil context.
var errNoContext = fmt.Errorf("%w: a nil context; use context.Background() for no deadline", gpk.ErrUnsupported)

// run computes the total entries of the plan.
func (j *job) run(ctx context.Context, e engine, total int64, begun time.Time) (*Result, error) {
	r, o := &Result{Plan: j.plan}, j.options
	j.report = &r.Report
	j.report.Path, j.report.Precision = j.plan.Path, o.Precision
	j.progress = func(done int64) {
		if o.Progress != nil {
			o.Progress(Progress{Done: done, Total: total, Elapsed: time.Since(begun)})
		}
	}
	j.progress(0)
	ceiling := int64(0)
	if j.dev.Kind() == device.CUDA { // otherwise idle memory of several sizes would accumulate
		ceiling = j.plan.Budget
	}
	watch := deviceapi.WatchWithin(j.dev, ceiling)
	op := beginOperation(j.dev, "Gram", callsite.Here())
	err := e.gram(ctx, j)
	op.Done(err)
	most := watch.Stop()
	if err != nil {
		j.k.Free()
		freeTiles(j.tiles)
		return nil, err
	}
	r.K, r.Tiles = j.k, j.tiles
	r.Report.finish(total, time.Since(begun), most)
	return r, nil
}

// budget sets MemoryBudget, if the program did not, to a share of the free memory.
func (j *job) budget(o *Options) error {
	if o.MemoryBudget != 0 {
		return nil
	}
	// If the system does not report free memory, the plan uses the total. Memory that
	// gpk's pool keeps for reuse counts as free, and the pool's limit applies.
	free, err := j.dev.Available()
	if err == nil {
		o.MemoryBudget = int64(math.Ceil(budgetShare * float64(free)))
	}
	return err
}

// choosePlan plans the job.
func (j *job) choosePlan(o Options, columns int, symmetric bool) (err error) {
	if j.plan, err = j.kernel.plan(j.x.n, columns, j.dev.Info(), o); err != nil {
		return err
	}
	if !symmetric && columns == 0 { // plan interprets 0 columns as a symmetric matrix
		j.plan.Samples[1], j.plan.Result, j.plan.PeakBytes = 0, 0, j.plan.PeakBytes-j.plan.Result
	}
	return nil
}
