package quantum

import (
	"context"
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// engine builds states and Gram matrices on one kind of device. GPU kernels are behind this
// interface: a state builder that runs a program, and a product with the epilogue |.|^2.
type engine interface {
	// states returns [n, 2^qubits] of dt on dev.
	states(ctx context.Context, dev *device.Device, p *program, x *samples, dt gpk.DType) (*gpk.Array, error)
	// gram computes the Gram matrix of a job.
	gram(ctx context.Context, j *job) error
}

// job is a Gram matrix to be computed.
type job struct {
	kernel  *kernel
	dev     *device.Device
	x, y    *samples // y is x for a symmetric matrix
	plan    Plan
	options Options
	part    *share                            // this rank's part, whose compact sets are x and y; nil: all of K
	agreed  func() (exchange bool, err error) // waits until the ranks have compared their arguments, and reports whether all can exchange states; nil: there is no concurrent comparison

	k        *gpk.Array // output: K, unless options.Output is set or a part is computed
	tiles    []Tile     // output: K's tiles, if a part stays in memory
	off      moments    // output
	report   *Report    // output
	progress func(done int64)
}

func (j *job) symmetric() bool { return j.x == j.y }

// whole reports whether all of K is computed, in memory.
func (j *job) whole() bool { return j.options.Output == nil && j.part == nil }

// engineFor returns the engine of a device. A program that requested a GPU never gets
// another device.
func engineFor(d *device.Device) (engine, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	switch d.Kind() {
	case device.CPU:
		return cpuEngine{}, nil
	case device.CUDA:
		return cudaEngine{}, nil
	}
	return nil, fmt.Errorf("%w: no states are built on %v", gpk.ErrUnsupported, d)
}
