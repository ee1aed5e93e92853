package quantum

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/interop/npy"
)

// Ranks is the part of a *dist.Comm that Gram needs. A rank is a process or a goroutine; all
// ranks compute a matrix together. A group may also have a method Direct() bool, as *dist.Comm does, which reports
// whether arrays move between GPUs without the host. If it returns true, two GPUs may exchange states by AllGather.
type Ranks interface {
	Rank() int
	Size() int
	// AllGather returns the arrays of all ranks, concatenated along an axis.
	AllGather(a *gpk.Array, axis int) *gpk.Array
}

// Shard is one of Of parts; Index counts from 0. The zero value is all of K.
type Shard struct{ Index, Of int }

// Tile is a part of K: its rows from Row on and its columns from Col on. For a symmetric K,
// only tiles on and above the diagonal are computed.
type Tile struct {
	Row, Col int
	K        *gpk.Array
}

func tileBytes(tiles []Tile) (n int64) {
	for _, t := range tiles {
		n += int64(t.K.NBytes())
	}
	return n
}

func freeTiles(tiles []Tile) {
	for _, t := range tiles {
		t.K.Free()
	}
}

// ranked reports whether K is computed in parts.
func (o *Options) ranked() bool { return o.Group != nil || o.Shard.Of > 0 }

// rank returns the number of this rank, and the number of ranks.
func (o *Options) rank() (rank, ranks int) {
	if o.Group != nil {
		return o.Group.Rank(), o.Group.Size()
	}
	return o.Shard.Index, o.Shard.Of
}

// maxRanks bounds the number of ranks.
const maxRanks = 1 << 14

func (o *Options) checkRanks() error {
	rank, ranks := o.rank()
	switch {
	case o.Group != nil && o.Shard != Shard{}:
		return fmt.Errorf("%w: Group and Shard are both set; a Group divides the work itself", gpk.ErrUnsupported)
	case !o.ranked() && o.Shard != Shard{}:
		return fmt.Errorf("%w: shard %d of %d", gpk.ErrShape, rank, ranks)
	case !o.ranked() && o.File != "":
		return fmt.Errorf("%w: File is for a Group or a Shard; Output is for all of K", gpk.ErrUnsupported)
	case !o.ranked():
		return nil
	case ranks < 1 || ranks > maxRanks || rank < 0 || rank >= ranks:
		return fmt.Errorf("%w: rank %d of %d; ranks are 0 to %d, and at most %d", gpk.ErrShape, rank, ranks, max(ranks, 1)-1, maxRanks)
	case o.Output != nil:
		return fmt.Errorf("%w: Output is written by one process; File is for several ranks", gpk.ErrUnsupported)
	}
	return nil
}

// noDigest is the digest of y in the run file of a symmetric matrix, which has no y.
var noDigest = strings.Repeat("0", 2*sha256.Size)

// digestOf returns the hexadecimal SHA-256 digest of the bytes that write writes. It identifies inputs of a matrix.
func digestOf(write func(w io.Writer)) string {
	h := sha256.New()
	write(h)
	return hex.EncodeToString(h.Sum(nil))
}

func (s *samples) digest() (string, error) {
	data := s.data
	if s.array != nil {
		wide := s.array.Cast(gpk.Float64)
		defer wide.Free()
		var err error
		if data, err = gpk.ToSlice[float64](wide); err != nil {
			return "", err
		}
	}
	return digestOf(func(w io.Writer) {
		fmt.Fprintln(w, s.n, s.features)
		_, _ = w.Write(npy.Bytes(data[:s.n*s.features])) // a hash returns no error
	}), nil
}

// describe describes the run. The samples of j must still be all samples.
func (j *job) describe(c *Circuit, p *share) (r runFile, err error) {
	o := j.options
	r = runFile{Format: runFormat, Ranks: p.ranks, Side: p.side, Rows: p.n, Columns: p.m, Type: o.Precision.dtype().String(), Y: noDigest}
	if r.X, err = j.x.digest(); err != nil {
		return r, err
	}
	if !j.symmetric() {
		if r.Y, err = j.y.digest(); err != nil {
			return r, err
		}
	}
	r.Circuit = digestOf(func(w io.Writer) {
		fmt.Fprintln(w, c.qubits)
		for _, g := range c.gates {
			fmt.Fprintln(w, g.kind, g.a, g.b, g.angle.terms)
		}
	})
	r.Options = digestOf(func(w io.Writer) { fmt.Fprintln(w, o.Precision, o.Path, o.Normalize, o.Jitter) })
	return r, nil
}

// plannedPart returns the part of a rank with its plan.
func (k *kernel) plannedPart(n, m int, d device.Info, o Options) (*share, Plan, error) {
	rank, ranks := o.rank()
	pt, err := k.newPart(n, m, o, rank, ranks, d.Kind == device.CUDA)
	if err != nil {
		return nil, Plan{}, err
	}
	p, err := k.planPart(pt, d, o)
	if err != nil {
		err = fmt.Errorf("rank %d of %d: %w", rank, ranks, err)
	}
	return pt, p, err
}

// ranked computes the part of a rank.
func (j *job) ranked(ctx context.Context, e engine, c *Circuit, against bool, begun time.Time) (r *Result, err error) {
	o, columns := j.options, 0
	if against {
		columns = j.y.n
	}
	p, plan, err := j.kernel.plannedPart(j.x.n, columns, j.dev.Info(), o)
	if err != nil {
		return nil, err
	}
	if against && columns == 0 {
		return nil, fmt.Errorf("%w: y has no samples to divide among ranks", gpk.ErrShape)
	}
	j.plan, j.part = plan, p
	var run runFile
	if o.Group != nil && o.File == "" && j.dev.Kind() == device.CUDA {
		j.agreed = j.startAgreement(c, p)
	} else if run, err = j.describe(c, p); err == nil && o.Group != nil {
		_, err = j.agree(run)
	}
	if err != nil {
		return nil, err
	}
	if o.File != "" {
		err = j.open(run)
		if errors.Is(err, errComplete) {
			return j.exchange(&Result{Plan: plan}, true)
		}
		if err != nil {
			return nil, fmt.Errorf("rank %d of %d: %w", p.rank, p.ranks, err)
		}
		defer p.record.close()
		j.options.Output = p.record.data
	} else if o.Group == nil {
		return nil, fmt.Errorf("%w: a Shard without a File to write", gpk.ErrUnsupported)
	}
	r, err = j.runPart(ctx, e, against, begun)
	if j.agreed != nil {
		if _, wrong := j.agreed(); wrong != nil {
			if err == nil {
				freeTiles(r.Tiles)
			}
			return nil, wrong
		}
	}
	return j.settle(r, err)
}

// runPart computes the tiles of the rank, from its samples.
func (j *job) runPart(ctx context.Context, e engine, against bool, begun time.Time) (*Result, error) {
	p, y := j.part, j.y
	var err error
	if j.x, err = p.compact(j.x, 0); err != nil {
		return nil, err
	}
	defer j.x.free()
	j.y = j.x
	if against {
		if j.y, err = p.compact(y, 1); err != nil {
			return nil, err
		}
		defer j.y.free()
	}
	return j.run(ctx, e, p.left(), begun)
}

// startAgreement starts to compare the arguments of the ranks in the background. The comparison takes as long as a
// part of a small matrix on a GPU. wait waits for the result.
func (j *job) startAgreement(c *Circuit, p *share) (wait func() (exchange bool, err error)) {
	whole := *j
	wait = sync.OnceValues(func() (bool, error) {
		run, err := whole.describe(c, p)
		if err != nil {
			return false, err
		}
		return whole.agree(run)
	})
	go func() { _, _ = wait() }()
	return wait
}

// settle records the tiles that a rank has computed, and completes the file if the rank was the last.
func (j *job) settle(r *Result, err error) (*Result, error) {
	p := j.part
	if p.record == nil {
		if err != nil {
			return nil, err
		}
		return j.exchange(r, true)
	}
	if err = errors.Join(err, p.record.flush()); err != nil { // the tiles are recorded even if err is not nil
		return nil, err
	}
	p.record.close() // some systems do not rename an open file
	done, err := p.record.complete()
	if err != nil {
		return nil, err
	}
	return j.exchange(r, done)
}

// open opens the record of a rank. In a group, rank 0 opens its record first, so that the others find its folder, or
// are told that K is complete. When open returns, all ranks have opened their records: otherwise one could complete K,
// and remove the folder, before another has found it.
func (j *job) open(run runFile) (err error) {
	p, o := j.part, j.options
	if o.Group == nil || p.rank == 0 {
		p.record, err = openRecord(o.File, run, p, o.Group != nil)
	}
	if o.Group == nil || err != nil && !errors.Is(err, errComplete) {
		return err
	}
	complete := uint8(0)
	if err != nil {
		complete = 1
	}
	switch all, wrong := gatherOf(j, []uint8{complete}); {
	case wrong != nil:
		p.record.close()
		return wrong
	case all[0] > 0:
		return errComplete
	case p.rank > 0:
		p.record, err = openRecord(o.File, run, p, true)
		if err != nil && !errors.Is(err, errComplete) {
			return err
		}
	}
	if _, wrong := gatherOf(j, []uint8{1}); wrong != nil {
		p.record.close()
		return wrong
	}
	return err
}

// gatherOf gathers the values of all ranks of the group, the same number from each.
func gatherOf[T gpk.Elem](j *job, mine []T) ([]T, error) {
	return gpk.ToSlice[T](j.options.Group.AllGather(gpk.FromSlice(mine).To(j.dev), 0))
}

// agree returns an error if the arguments of the ranks differ, and reports whether all of them can exchange states: their
// memory may differ.
func (j *job) agree(run runFile) (exchange bool, err error) {
	parts := []struct {
		what, of string
	}{
		{"another circuit", run.Circuit},
		{"other samples x", run.X},
		{"other samples y", run.Y},
		{"other options", run.Options},
		{"another Tile, number of ranks or samples", digestOf(func(w io.Writer) { fmt.Fprintln(w, run.Side, run.Rows, run.Columns, run.Ranks, run.Format) })},
		{"another choice of File or Tiles", digestOf(func(w io.Writer) { fmt.Fprintln(w, j.options.File != "") })},
	}
	var mine []uint8
	for _, p := range parts {
		mine = append(mine, p.of...)
	}
	able := uint8(0)
	if j.plan.exchange {
		able = 1
	}
	mine = append(mine, able)
	all, err := gatherOf(j, mine)
	if err != nil {
		return false, err
	}
	exchange = true
	for rank := range len(all) / len(mine) {
		for i, p := range parts {
			at := i * len(p.of)
			if theirs := all[rank*len(mine)+at:][:len(p.of)]; string(theirs) != string(all[at:][:len(p.of)]) {
				return false, fmt.Errorf("%w: rank %d calls Gram with %s than rank 0", gpk.ErrUnsupported, rank, p.what)
			}
		}
		exchange = exchange && all[(rank+1)*len(mine)-1] == 1
	}
	return exchange, nil
}

// exchange waits for the other ranks of a group, and completes the report.
func (j *job) exchange(r *Result, done bool) (*Result, error) {
	if j.options.Group == nil {
		r.Complete = done
		return r, nil
	}
	complete := 0.0
	if done {
		complete = 1
	}
	q := &r.Report
	mine := []float64{complete, float64(j.off.n), q.OffDiagonalMean, q.OffDiagonalStd, q.MaxDiagonalError}
	all, err := gatherOf(j, mine)
	if err != nil {
		freeTiles(r.Tiles)
		return nil, err
	}
	n, sum, squares := 0.0, 0.0, 0.0
	for at := 0; at < len(all); at += len(mine) {
		r.Complete = r.Complete || all[at] > 0
		q.MaxDiagonalError = max(q.MaxDiagonalError, all[at+4])
		if all[at+1] > 0 {
			n, sum = n+all[at+1], sum+all[at+1]*all[at+2]
		}
	}
	q.OffDiagonalMean = sum / n // NaN if n is 0
	for at := 0; at < len(all); at += len(mine) {
		if k := all[at+1]; k > 0 {
			d := all[at+2] - q.OffDiagonalMean
			squares += k * (all[at+3]*all[at+3] + d*d)
		}
	}
	q.OffDiagonalStd = math.Sqrt(squares / n)
	q.warn()
	if !r.Complete {
		return nil, fmt.Errorf("%w: every rank has written its tiles, but no rank can read those of all: %s is not on a shared file system", gpk.ErrUnsupported, j.options.File)
	}
	return r, nil
}
