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
	work    int64 // bytes of cuFFT's work area
	ctx     uintptr
	// held is a buffer of no bytes that every run reads. Its release destroys the plan, so the
	// plan lives as long as started work or a graph refers to the buffer.
	held *device.Buffer
}

// maxPlans is the maximum number of cached plans of a device. A plan holds tables of roots of
// unity in device memory.
const maxPlans = 256

// planCache holds the plans of a device.
type planCache struct {
	dev *device.Device
	ctx uintptr
	// make makes a plan and returns the size of its work area in bytes. end destroys a plan.
	make  func(ctx uintptr, p *Problem) (id int, work int64, err error)
	end   func(ctx uintptr, id int)
	plans map[Problem]*Plan // guarded by devices
}

var devices struct {
	sync.Mutex
	of map[*device.Device]*planCache
}

// PlanOf returns the plan of a problem on a GPU. It makes the plan if it is not cached.
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

// plansOf returns the cache of plans of a device.
func plansOf(d *device.Device) (*planCache, error) {
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
		devices.of = map[*device.Device]*planCache{}
	}
	k := &planCache{d, ctx, func(ctx uintptr, p *Problem) (int, int64, error) { return p.make(ctx) }, destroy, map[Problem]*Plan{}}
	devices.of[d] = k
	return k, nil
}

// planOf returns the plan of a problem. If the tables of a new plan do not fit into device
// memory, planOf drops all cached plans, trims the device's pool, and tries once more.
func (k *planCache) planOf(p Problem) (*Plan, error) {
	plan, err := k.find(p)
	if !isAllocFailed(err) {
		return plan, err
	}
	devices.Lock()
	clear(k.plans)
	devices.Unlock()
	// Collect destroys the plans to which no work and no graph refers any more. The mutex is
	// not held here, because Collect also calls release functions of wrapped memory.
	deviceapi.Collect(k.dev)
	if err := k.dev.Trim(); err != nil {
		return nil, err
	}
	if plan, err = k.find(p); isAllocFailed(err) {
		err = errors.Join(device.ErrOutOfMemory, err)
	}
	return plan, err
}

// find returns the cached plan of a problem, or makes one.
func (k *planCache) find(p Problem) (*Plan, error) {
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
		clear(k.plans) // the collector destroys the plans that nothing else refers to
	}
	plan := &Plan{p, id, work, k.ctx, held}
	k.plans[p] = plan
	return plan, nil
}

// run holds the arguments of gpk_cufft_run: the stream, the addresses of the arrays, and the copy made before the transform.
type run struct {
	stream, src, dst, work uint64
	scratch, bytes         uint64 // see gpk_cufft_run
	pitch, lines, last     uint64
	words, plan            int
	inverse                bool
}

// Run enqueues the transforms of src, in the layout of the problem, to the dense dst. It does not
// change src. For ComplexToReal src is dense, and the imaginary parts of the first element of a
// line, and of the last one if the length is even, count as 0.
func (p *Plan) Run(s *device.Stream, dst, src device.View, inverse bool) error {
	d := s.Device()
	if size := uint64(dst.DType.Size()); p.problem.Kind == ComplexToReal && dst.Addr()%(2*size) != 0 {
		return p.runUnaligned(s, dst, src, inverse)
	}
	r := run{src: src.Addr(), dst: dst.Addr(), plan: p.id, inverse: inverse}
	scratch, err := p.prepare(d, s, src, &r)
	if err != nil {
		return err
	}
	defer scratch.Free()
	var work *device.Buffer
	if p.work > 0 { // a graph rejects a freed buffer of no bytes
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

// runUnaligned is Run for a dst that is not aligned. It writes the results to a temporary buffer
// and copies them.
func (p *Plan) runUnaligned(s *device.Stream, dst, src device.View, inverse bool) error {
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

// prepare allocates a copy of src if cuFFT cannot read src in place. Transforms to real numbers
// overwrite their input, and real input must be aligned like complex numbers. scratch is nil if
// no copy is needed.
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
