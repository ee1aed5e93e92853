package nn

import (
	"sync"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist"
)

// RowParallel is a Linear whose in features are divided among the ranks: rank i of n holds columns i in/n to (i+1) in/n
// - 1 of the weight. It multiplies them by the features that ColumnParallel returns. AllReduce adds the ranks'
// products. Every rank holds the whole bias, and rank 0 adds it.
//
// Each rank rounds its product to the type of x before the sum, so the result has more roundings than the product of
// the whole layer.
type RowParallel struct {
	*Linear // the layer with the rank's features

	// Chunks is the number of parts that the rows of x are cut into. The AllReduce of one part runs
	// while the product of the next is computed. 0 makes at most four parts, of at least 2,048 rows
	// each. All ranks must have the same Chunks.
	Chunks int

	comm *dist.Comm
}

// The default of Chunks. Products of fewer than 2,048 rows use an H200 less well, which costs more than is gained by
// running them concurrently with AllReduce. With four parts, a quarter of the AllReduce remains after the last product.
const (
	chunkRows  = 2048
	mostChunks = 4
)

// NewRowParallel returns the rank's part of a layer. It is ErrShape if the number of ranks does not
// divide the in features.
func NewRowParallel(c *dist.Comm, l *Linear) (*RowParallel, error) {
	part, err := rowParallel(c, l)
	return part, array.NewOperation("nn.NewRowParallel", nil).Wrap(err)
}

// rowParallel is NewRowParallel without the name and the line in its errors.
func rowParallel(c *dist.Comm, l *Linear) (*RowParallel, error) {
	if err := checkParallel(c, l != nil); err != nil {
		return nil, err
	}
	weight, err := l.Weight.part(1, c)
	if err != nil {
		return nil, err
	}
	part := &Linear{Weight: weight, Activation: l.Activation, Precision: l.Precision}
	if l.Bias != nil {
		if part.Bias, err = l.Bias.whole(c); err != nil {
			return nil, err
		}
	}
	return &RowParallel{Linear: part, comm: c}, nil
}

// Forward returns [..., out] for x of [..., in/n], the rank's features. All ranks call it, with x of
// the same shape. If a rank's x has an error or another shape, all ranks get an array with a dist.RankError
// that names the rank.
func (l *RowParallel) Forward(x *gpk.Array) *gpk.Array {
	if l.comm.Size() == 1 {
		return l.Linear.Forward(x)
	}
	products := l.products(x)
	beside := len(products) > 1 && l.comm.Direct()
	done := func() {}
	if !beside {
		done = start(products)
	}
	defer func() {
		done()
		for _, p := range products {
			p.Free()
		}
	}()
	sums := make([]*gpk.Array, len(products))
	for i, p := range products {
		if beside {
			_ = gpk.Eval(p) // the array carries an error, which AllReduce finds
			p = l.comm.Beside(p)
		}
		if i == len(products)-1 {
			// The last chunk has one more axis. So ranks whose numbers of chunks differ find different
			// shapes in this call, instead of adding a chunk of one call to one of the next.
			p = p.Unsqueeze(0)
		}
		if sums[i] = l.comm.AllReduce(p, dist.Sum); sums[i].Err() != nil {
			return sums[i] // the same on all ranks
		}
		if beside {
			sums[i] = sums[i].On(products[i].Stream())
		}
	}
	last := len(sums) - 1
	sums[last] = sums[last].Squeeze(0)
	y := sums[0]
	if last > 0 {
		y = gpk.Concat(0, sums...)
	}
	shape := x.Shape()
	shape[len(shape)-1] = y.Shape()[1]
	return activate(l.Activation, y).Reshape(shape...)
}

// products returns the rank's pending products of the chunks, each [rows, out], or one array that carries
// an error.
func (l *RowParallel) products(x *gpk.Array) []*gpk.Array {
	w := l.weight.packed(l.Precision, l.Weight)
	var bias *gpk.Array
	if l.Bias != nil && l.comm.Rank() == 0 {
		bias = l.Bias.Array()
	}
	shape := x.Shape()
	in := l.Weight.shape[1]
	if x.Err() != nil || len(shape) == 0 || shape[len(shape)-1] != in {
		return []*gpk.Array{gpk.Linear(x, w, bias, l.Precision)} // its error states the problem
	}
	rows := 1
	for _, n := range shape[:len(shape)-1] {
		rows *= n
	}
	x = x.Reshape(rows, in)
	list := make([]*gpk.Array, l.chunks(rows))
	for i := range list {
		part := x.Slice(0, rows*i/len(list), rows*(i+1)/len(list))
		if list[i] = gpk.Linear(part, w, bias, l.Precision); list[i].Err() != nil {
			return list[i : i+1]
		}
	}
	return list
}

// chunks returns the number of parts into which rows are cut.
func (l *RowParallel) chunks(rows int) int {
	n := l.Chunks
	if n <= 0 {
		n = min(rows/chunkRows, mostChunks)
	}
	return max(1, min(n, rows))
}

// start starts arrays in their order, and returns a function that waits until all are started. Starting an
// array on the CPU computes it, so a goroutine does it there.
func start(list []*gpk.Array) (done func()) {
	if len(list) == 1 {
		return func() {}
	}
	if list[0].Device().Kind() != device.CPU {
		_ = gpk.Eval(list...) // the array carries an error, which AllReduce finds
		return func() {}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, a := range list {
			if gpk.Eval(a) != nil {
				return
			}
		}
	})
	return wg.Wait
}

// activate applies an activation to y.
func activate(act Activation, y *gpk.Array) *gpk.Array {
	switch act {
	case GELU:
		return y.GELU()
	case GELUTanh:
		return y.GELUTanh()
	case ReLU:
		return y.ReLU()
	case SiLU:
		return y.SiLU()
	}
	return y
}
