package profile

import (
	"slices"
	"strings"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/goroutine"
	"github.com/gpk-go/gpk/internal/observe"
)

// operation is an operation that was recorded, or that is in progress in its goroutine.
type operation struct {
	*observe.Operation
	goroutine uint64
	span      int
	line      string // line of the program
	kernel    string
	work      []*device.Measurement
	alone     [1]*device.Measurement // memory for a work of length 1
}

// transfer is a recorded copy.
type transfer struct {
	*device.Measurement
	goroutine uint64
	span      int
}

// goroutineState holds the open operations and spans of a goroutine, the innermost last.
type goroutineState struct {
	operations []*operation
	spans      []*span
	outside    labels // labels of the goroutine before its first span
}

// observer implements observe.Observer for a profile.
type observer struct{ p *Profile }

// goroutine returns the state of a goroutine. mu is held.
func (p *Profile) goroutine(id uint64) *goroutineState {
	g := p.goroutines[id]
	if g == nil {
		g = &goroutineState{}
		p.goroutines[id] = g
	}
	return g
}

// leave removes the state of a goroutine if nothing is open in it. mu is held.
func (p *Profile) leave(id uint64, g *goroutineState) {
	if len(g.operations) == 0 && len(g.spans) == 0 {
		delete(p.goroutines, id)
	}
}

// operation returns the innermost open operation, or nil. mu is held.
func (g *goroutineState) operation() *operation {
	if g == nil || len(g.operations) == 0 {
		return nil
	}
	return g.operations[len(g.operations)-1]
}

// BeginOperation implements observe.Observer.
func (o observer) BeginOperation(op *observe.Operation) {
	p, id := o.p, goroutine.ID()
	r := &operation{Operation: op, goroutine: id}
	r.work = r.alone[:0]
	op.Data = r
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	g := p.goroutine(id)
	r.span = g.span()
	g.operations = append(g.operations, r)
}

// EndOperation implements observe.Observer. An operation that has started no work is not
// recorded; its work may have been recorded for a graph, for example.
func (o observer) EndOperation(op *observe.Operation) {
	p := o.p
	r, ok := op.Data.(*operation)
	if !ok {
		return
	}
	ran := len(r.work) > 0 || op.Whole || op.Err != nil
	if ran {
		p.mu.Lock()
		r.line = p.site(op.Site)
		p.mu.Unlock()
		r.kernel = p.kernel(r)
	}
	op.Kernel = nil // it refers to the operands
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.goroutines[r.goroutine]; g != nil {
		if i := slices.Index(g.operations, r); i >= 0 {
			g.operations = slices.Delete(g.operations, i, i+1)
		}
		p.leave(r.goroutine, g)
	}
	if ran && p.take() {
		p.operations = append(p.operations, r)
	}
}

// BeginWork implements observe.Observer. Work belongs to the operation that is open in its
// goroutine.
func (o observer) BeginWork(m *device.Measurement) {
	p, id := o.p, goroutine.ID()
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.goroutines[id]
	if op := g.operation(); op != nil && m.Kind < device.HostToDevice {
		m.Data = op
		return
	}
	if m.Kind < device.HostToDevice {
		m.Data = &operation{goroutine: id, span: g.span()}
	} else {
		m.Data = &transfer{Measurement: m, goroutine: id, span: g.span()}
	}
}

// EndWork implements observe.Observer.
func (o observer) EndWork(m *device.Measurement) {
	p := o.p
	switch r := m.Data.(type) {
	case *transfer:
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.take() {
			p.transfers = append(p.transfers, r)
		}
	case *operation:
		if r.Operation != nil { // if the operation was started by this goroutine
			r.work = append(r.work, m)
			return
		}
		at := calling()
		r.line = at.line
		r.Operation = &observe.Operation{Name: at.name, Stream: m.Stream, Begin: m.Begin, End: m.End, Err: m.Err}
		if m.Kind == device.Replaying {
			r.Name = "Replay"
		}
		r.alone[0] = m
		r.work = r.alone[:]
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.take() {
			p.operations = append(p.operations, r)
		}
	}
}

// Captured implements observe.Observer.
func (o observer) Captured(*device.Device) {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	o.p.graphs.Captures++
}

// KernelFound implements observe.Observer.
func (o observer) KernelFound(*device.Device) {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	o.p.compiled.Hits++
}

// KernelCompiled implements observe.Observer.
func (o observer) KernelCompiled(_ *device.Device, took time.Duration) {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	o.p.compiled.Compiled++
	o.p.compiled.Time += took
}

// kernelKey identifies the kernel of an operation: operations of one line on the same
// shape that start the same number of pieces of work are computed in the same way.
type kernelKey struct {
	dev   *device.Device
	name  string
	line  string
	dtype string
	shape [6]int
	rank  int
	work  int
}

// maxKernels is the maximum number of cached descriptions of kernels.
const maxKernels = 4096

// kernel returns a one-line description of the kernel of an operation. Explain takes
// microseconds, so its text is cached.
func (p *Profile) kernel(r *operation) string {
	op := r.Operation
	if op.Kernel == nil || len(op.Shape) > len(kernelKey{}.shape) {
		return ""
	}
	k := kernelKey{dev: op.Stream.Device(), name: op.Name, line: r.line, dtype: op.DType, rank: len(op.Shape), work: len(r.work)}
	copy(k.shape[:], op.Shape)
	p.mu.Lock()
	text, ok := p.kernels[k]
	p.mu.Unlock()
	if ok {
		return text
	}
	text, _, _ = strings.Cut(op.Kernel(), "\n")
	if _, after, found := strings.Cut(text, ": "); found {
		text = after
	}
	text = strings.TrimSuffix(text, ":")
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.kernels) >= maxKernels {
		clear(p.kernels)
	}
	p.kernels[k] = text
	return text
}
