package fused

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Runner runs calls on a GPU as one kernel.
type Runner interface {
	// Run starts the call on s. It reports false, having started nothing, if the kernel is
	// not available: it is not compiled yet (Run then starts the compilation), there is no
	// compiler, or the program has no kernel. The caller then runs the single operations.
	Run(s *device.Stream, c *Call) (done bool, err error)
	// Explain returns the number of kernels that Run would start now, 0 if the single
	// operations would run. If the number is not one, why gives the reason: "NVRTC was not
	// found: …", "its kernel is being compiled".
	Explain(d *device.Device, p *Program, choice Choice) (kernels int, why string)
}

// gpu runs the calls of GPUs.
var gpu Runner = &compiled{}

// Run starts the call on s, as one piece of work if possible, else step by step. The bits
// are the same.
func (c *Call) Run(s *device.Stream) error {
	if s.Device().Kind() == device.CPU {
		reads, writes := make([]*device.Buffer, len(c.Leaves)), [1]*device.Buffer{c.Dst.Buffer}
		for i := range c.Leaves {
			reads[i] = c.Leaves[i].Buffer
		}
		return s.Device().LaunchWork(s, reads, writes[:], c)
	}
	if len(c.Shape) <= MaxDims {
		if done, err := gpu.Run(s, c); done || err != nil {
			return err
		}
	}
	return c.stepByStep(s)
}

// hostChains is a pool of cpu.Chain. One takes 1.4 KB, which was half of the memory that a
// short chain allocated.
var hostChains = sync.Pool{New: func() any { return new(cpu.Chain) }}

// Start implements device.Work, on the CPU.
func (c *Call) Start(int, uint64) error {
	chain := hostChains.Get().(*cpu.Chain)
	leaves, scalars := chain.Leaves[:0], chain.Scalars[:0]
	defer func() {
		clear(leaves)
		*chain = cpu.Chain{Leaves: leaves, Scalars: scalars}
		hostChains.Put(chain)
	}()
	for i := range c.Leaves {
		l := &c.Leaves[i]
		leaves = append(leaves, cpu.ChainLeaf{P: unsafe.Add(l.Buffer.Ptr(), l.Offset*c.Program.Leaves[i].DType.Size()), Strides: l.Strides})
	}
	for _, v := range c.Scalars {
		scalars = append(scalars, v)
	}
	*chain = cpu.Chain{Program: c.Program, Shape: c.Shape, Leaves: leaves, Scalars: scalars}
	dst := unsafe.Add(c.Dst.Buffer.Ptr(), c.Dst.Offset*c.Program.Result().Size())
	if c.Program.Reduction.Op != expr.None {
		chain.Scratch = c.scratch
		return chain.Reduce(c.Axes, dst)
	}
	return chain.Elementwise(dst, c.Dst.Strides)
}

// Keep implements device.Keeper. It copies the call, because a Builder reuses it.
func (c *Call) Keep() device.Work {
	k := *c
	k.Leaves, k.Scalars = slices.Clone(c.Leaves), slices.Clone(c.Scalars)
	return &k
}

// scratch allocates memory from the pool for a reduction on the CPU.
func (c *Call) scratch(bytes int) (unsafe.Pointer, func(), error) {
	buf, err := c.Dst.Buffer.Device().Alloc(int64(bytes), nil)
	if err != nil {
		return nil, nil, err
	}
	return buf.Ptr(), buf.Free, nil
}

// Explain returns the number of kernels that compute a call of the program on a device, 0
// if the single operations compute it. If the number is not one, why gives the reason.
// choice is the result of Call.Choice.
func Explain(d *device.Device, p *Program, choice Choice) (kernels int, why string) {
	if d.Kind() == device.CPU {
		return 1, ""
	}
	return gpu.Explain(d, p, choice)
}

// Describe describes how a chain of n operations is computed on a device, from Explain:
// "one fused kernel for 3 operations".
func Describe(d *device.Device, p *Program, choice Choice, n int) string {
	switch kernels, why := Explain(d, p, choice); kernels {
	case 1:
		return fmt.Sprintf("one fused kernel for %d operations", n)
	case 2:
		return fmt.Sprintf("two fused kernels for %d operations (%s)", n, why)
	default:
		return fmt.Sprintf("%d operations one by one, which could be one kernel (%s)", n, why)
	}
}

// stepByStep runs each step as a single operation. Intermediate results are in memory of
// the pool.
func (c *Call) stepByStep(s *device.Stream) (err error) {
	p := c.Program
	d := s.Device()
	end := len(p.Steps) - 1
	last := p.LastReads()
	var results [MaxSteps]device.View
	free := func(i int) {
		if b := results[i].Buffer; b != nil && b != c.dst.Buffer {
			b.Free()
		}
		results[i].Buffer = nil
	}
	defer func() {
		for i := range p.Steps {
			free(i)
		}
	}()
	dense := layout.Dense(c.shape)
	for i := range p.Steps {
		step := &p.Steps[i]
		if i == end && p.Reduction.Op == expr.None {
			results[i] = c.dst
		} else {
			buf, err := d.Alloc(int64(dense.Size())*int64(step.DType.Size()), s)
			if err != nil {
				return err
			}
			results[i] = device.View{Buffer: buf, DType: step.DType, Layout: dense}
		}
		if err := c.step(s, step, results[i], &results); err != nil {
			return &expr.StepError{Step: i, Err: err}
		}
		for _, a := range step.Args[:step.N] {
			if a.Kind == ToStep && last[a.N] == i {
				free(int(a.N))
			}
		}
	}
	if p.Reduction.Op != expr.None {
		return c.finish(s, results[end])
	}
	return nil
}

// finish computes the reduction, softmax or norm at the end of the chain. x holds the
// elements of the last step.
func (c *Call) finish(s *device.Stream, x device.View) error {
	switch op := c.Program.Reduction.Op; op {
	case expr.LayerNorm, expr.RMSNorm:
		return ops.Norm(s, op, c.dst, x, c.gamma, c.beta, c.eps)
	case expr.Softmax, expr.LogSoftmax:
		return ops.Along(s, op, c.dst, x, len(c.shape)-1)
	default:
		return ops.Reduce(s, op, c.dst, x, c.axes)
	}
}

// step runs one step as a single operation.
func (c *Call) step(s *device.Stream, step *Step, dst device.View, results *[MaxSteps]device.View) error {
	var in [3]ops.Operand
	for j, a := range step.Args[:step.N] {
		switch a.Kind {
		case ToLeaf:
			in[j].View = c.views[a.N]
		case ToScalar:
			in[j].Scalar = c.Scalars[a.N]
		default:
			in[j].View = results[a.N]
		}
	}
	return ops.Apply(s, step.Op, dst, in[:step.N])
}
