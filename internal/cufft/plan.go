package cufft

import (
	"errors"
	"sync"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/layout"
)

// Plan is cuFFT's plan of a problem on a device.
type Plan struct {
	problem Problem
	id      int
	work    int64 // bytes that a run works in
	ctx     uintptr
	// held is a buffer of no bytes that every run reads. Its release ends the plan, so that the
	// plan is there for as long as work that was started, or a graph, refers to it.
	held *device.Buffer
}

// maxPlans is the number of plans that a device keeps. A plan holds tables of roots of unity in
// device memory.
const maxPlans = 256

// kept is the plans of a device.
type kept struct {
	dev *device.Device
	ctx uintptr
	// make makes a plan, and returns it and the bytes that a run works in; end ends a plan.
	make  func(ctx uintptr, p *Problem) (id int, work int64, err error)
	end   func(ctx uintptr, id int)
	plans map[Problem]*Plan // devices guards it
}

var devices struct {
	sync.Mutex
	of map[*device.Device]*kept
}

// PlanOf returns the plan of a problem on a GPU. It makes the plan where there is none.
func PlanOf(d *device.Device, p Problem) (*Plan, error) {
	if err := Load(); err != nil {
		return nil, err
	}
	k, err := plansOf(d)
	if err != nil {
		return nil, err
	}
	return k.planOf(p)
}

// plansOf returns the plans of a device.
func plansOf(d *device.Device) (*kept, error) {
	devices.Lock()
	defer devices.Unlock()
	if k := devices.of[d]; k != nil {
		return k, nil
	}
	ctx, err := library.Context(d.Info().Index)
	if err != nil {
		return nil, err
	}
	if devices.of == nil {
		devices.of = map[*device.Device]*kept{}
	}
	k := &kept{d, ctx, func(ctx uintptr, p *Problem) (int, int64, error) { return p.make(ctx) }, destroy, map[Problem]*Plan{}}
	devices.of[d] = k
	return k, nil
}

// planOf is PlanOf. Where there is no memory for the tables of a plan, it drops the plans
// that are kept and gives back what the pool caches, and tries once more.
func (k *kept) planOf(p Problem) (*Plan, error) {
	plan, err := k.find(p)
	if !isAllocFailed(err) {
		return plan, err
	}
	devices.Lock()
	clear(k.plans)
	devices.Unlock()
	// Collect ends the plans to which nothing refers any more: no work, and no graph.
	// The mutex is not held, because Collect calls the owners of foreign memory too.
	deviceapi.Collect(k.dev)
	if err := k.dev.Trim(); err != nil {
		return nil, err
	}
	if plan, err = k.find(p); isAllocFailed(err) {
		err = errors.Join(device.ErrOutOfMemory, err)
	}
	return plan, err
}

// find returns the plan of a problem, which it makes where there is none.
func (k *kept) find(p Problem) (*Plan, error) {
	devices.Lock()
	defer devices.Unlock()
	if plan := k.plans[p]; plan != nil {
		return plan, nil
	}
	id, work, err := k.make(k.ctx, &p)
	if err != nil {
		return nil, err
	}
	held, err := device.Wrap(k.dev, 0, 0, func() { k.end(k.ctx, id) })
	if err != nil {
		k.end(k.ctx, id)
		return nil, err
	}
	if len(k.plans) >= maxPlans {
		clear(k.plans) // what refers to none of them is collected
	}
	plan := &Plan{p, id, work, k.ctx, held}
	k.plans[p] = plan
	return plan, nil
}

// run is what is passed to cuFFT: addresses, and what is done before.
type run struct {
	stream, src, dst, work uint64
	scratch, bytes         uint64 // see gpk_cufft_run
	pitch, lines, last     uint64
	words, plan            int
	inverse                bool
}

// Run enqueues the transforms of src, which lies as the problem says, to dst, which is dense. src
// keeps its elements. Of ComplexToReal src is dense; the imaginary parts of the first element of a
// line, and of the last one of an even length, count as 0.
func (p *Plan) Run(s *device.Stream, dst, src device.View, inverse bool) error {
	d := s.Device()
	if size := uint64(dst.DType.Size()); p.problem.Kind == ComplexToReal && dst.Addr()%(2*size) != 0 {
		return p.runBeside(s, dst, src, inverse)
	}
	r := run{src: src.Addr(), dst: dst.Addr(), plan: p.id, inverse: inverse}
	scratch, err := p.prepare(d, s, src, &r)
	if err != nil {
		return err
	}
	defer scratch.Free()
	var work *device.Buffer
	if p.work > 0 { // a graph refuses a buffer of no bytes that was freed
		if work, err = d.Alloc(p.work, s); err != nil {
			return err
		}
		defer work.Free()
		r.work = work.Addr()
	}
	return d.Launch(s, []*device.Buffer{src.Buffer, p.held}, []*device.Buffer{dst.Buffer, scratch, work}, func(_ int, stream uint64) error {
		r.stream = stream
		return r.exec(p.ctx)
	})
}

// runBeside is Run for a dst that is not aligned: the results are written beside it and copied.
func (p *Plan) runBeside(s *device.Stream, dst, src device.View, inverse bool) error {
	d := s.Device()
	beside, err := d.Alloc(dst.NBytes(), s)
	if err != nil {
		return err
	}
	defer beside.Free()
	at := device.View{Buffer: beside, DType: dst.DType, Layout: layout.Dense(dst.Layout.Shape)}
	if err := p.Run(s, at, src, inverse); err != nil {
		return err
	}
	return d.Copy(dst.Buffer, dst.Start(), beside, 0, dst.NBytes(), s)
}

// prepare allocates the memory that src is copied to where cuFFT cannot read it as it lies:
// transforms to real numbers overwrite what they read, and real numbers must be aligned as complex
// ones are.
func (p *Plan) prepare(d *device.Device, s *device.Stream, src device.View, r *run) (scratch *device.Buffer, err error) {
	size := uint64(src.DType.Size())
	toReal := p.problem.Kind == ComplexToReal
	if !toReal && (p.problem.Kind == ComplexToComplex && r.src%size == 0 || r.src%(2*size) == 0) {
		return nil, nil
	}
	_, high := src.Layout.Span()
	r.bytes = size * uint64(high-src.Layout.Offset)
	if scratch, err = d.Alloc(int64(r.bytes), s); err != nil {
		return nil, err
	}
	r.scratch = scratch.Addr()
	if toReal {
		n := p.problem.N[0]
		line := uint64(n/2 + 1)
		r.pitch, r.lines, r.words = size*line, uint64(p.problem.Batch), int(size/8)
		if n%2 == 0 {
			r.last = r.pitch - size/2
		}
	}
	return scratch, nil
}
