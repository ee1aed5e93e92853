package fused

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/layout"
)

// compiled runs calls with kernels that are compiled at run time. It implements Runner.
type compiled struct {
	mu      sync.RWMutex
	devices map[*device.Device]*kernels
}

// kernels are the compiled kernels of one device.
type kernels struct {
	refused error // why kernels cannot be compiled for the device, or nil

	mu   sync.RWMutex
	made map[string]deviceapi.Compilation // by program and variant; see appendKey
}

// kernelsOf returns the kernels of a device. It makes an empty list at the first call.
func (g *compiled) kernelsOf(d *device.Device) *kernels {
	g.mu.RLock()
	k := g.devices[d]
	g.mu.RUnlock()
	if k != nil {
		return k
	}
	refused := compilerFits(d)
	g.mu.Lock()
	defer g.mu.Unlock()
	if k := g.devices[d]; k != nil {
		return k
	}
	if g.devices == nil {
		g.devices = map[*device.Device]*kernels{}
	}
	k = &kernels{refused: refused, made: map[string]deviceapi.Compilation{}}
	g.devices[d] = k
	return k
}

// compilerFits returns the reason why kernels of chains cannot be compiled for a device, or
// nil. The compiler must be of the CUDA version with which the library of single operations
// was built: functions such as exp are part of the compiler, and their bits may change.
func compilerFits(d *device.Device) error {
	version, err := deviceapi.CompilerVersion(d)
	if err != nil {
		return err
	}
	if lib := d.Library(); lib != nil && lib.CUDAVersion()/10 != version/10 {
		return fmt.Errorf("%w: NVRTC has version %d.%d, but the kernel library was built with CUDA %d.%d: results could differ in their last bits; set GPK_NVRTC to another NVRTC",
			expr.ErrUnsupported, version/1000, version%1000/10, lib.CUDAVersion()/1000, lib.CUDAVersion()%1000/10)
	}
	return nil
}

// appendKey appends the key of a program and a kernel variant.
func appendKey(b []byte, p *Program, f kernelVariant) []byte {
	b = append(b, byte(f.traversal), f.width, byte(p.Reduction.Op), byte(p.Rank), byte(p.Dst), byte(len(p.Leaves)), byte(len(p.Scalars)))
	if r := f.fold; f.folds() {
		b = append(b, byte(p.Reduction.Over), r.kept, r.folded, r.rows, byte(r.team/32), r.held, flags(r.whole, r.vectors, r.means))
	}
	for _, l := range p.Leaves {
		b = append(b, byte(l.DType), byte(l.Class))
	}
	for _, dt := range p.Scalars {
		b = append(b, byte(dt))
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		b = append(b, byte(s.Op), byte(s.DType), byte(s.N))
		for _, a := range s.Args[:s.N] {
			b = append(b, byte(a.Kind), a.N)
		}
	}
	return b
}

// flags packs booleans into bits.
func flags(list ...bool) (b byte) {
	for i, on := range list {
		if on {
			b |= 1 << i
		}
	}
	return b
}

// kernel returns the compilation of a program's kernel. It starts the compilation if there
// is none.
func (k *kernels) kernel(d *device.Device, p *Program, f kernelVariant) deviceapi.Compilation {
	var room [512]byte
	key := appendKey(room[:0], p, f)
	k.mu.RLock()
	c := k.made[string(key)]
	k.mu.RUnlock()
	if c != nil && !c.Again() {
		return c
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.made[string(key)]; now != nil && now != c {
		return now
	}
	if len(k.made) >= maxMade { // CompileLater has a cache of its own
		clear(k.made)
	}
	c = deviceapi.CompileLater(d, code(p, f))
	k.made[string(key)] = c
	return c
}

// maxMade is the maximum length of kernels.made, which includes programs that do not compile.
const maxMade = 4096

// function returns the kernel of a program if it is compiled, else nil. In a capture it
// waits for the compiler, because the recorded kernels run many times.
func (k *kernels) function(s *device.Stream, p *Program, f kernelVariant) *device.Function {
	c := k.kernel(s.Device(), p, f)
	fn, ready, err := c.Function()
	if !ready && err == nil && s.Capturing() {
		fn, err = c.Now(context.Background())
	}
	if err != nil {
		return nil
	}
	return fn
}

// stepsOf returns the program without its reduction, for a call that stores the elements
// before they are reduced.
func stepsOf(p *Program) *Program {
	if p.Reduction.Op == expr.None {
		return p
	}
	q := *p
	q.Reduction, q.Dst = Reduction{}, Dense
	return &q
}

// Run implements Runner. A reduction that cannot share a kernel with the steps runs as a
// second kernel, that of the single operation, with the same tree.
func (g *compiled) Run(s *device.Stream, c *Call) (bool, error) {
	d := s.Device()
	k := g.kernelsOf(d)
	if k.refused != nil || len(c.Shape) > MaxDims {
		return false, nil
	}
	p := stepsOf(c.Program)
	if p == c.Program {
		return k.run(s, p, c, c.Dst)
	}
	choice := c.Choice()
	if choice.one {
		return k.runFold(s, c)
	}
	// The first call only starts the compilation. Allocate memory once the kernel exists.
	if k.function(s, p, choice.variant) == nil {
		return false, nil
	}
	dense := layout.Dense(c.shape)
	dt := p.Result()
	buf, err := d.Alloc(int64(dense.Size())*int64(dt.Size()), s)
	if err != nil {
		return false, nil // the single operations report the error
	}
	defer buf.Free()
	done, err := k.run(s, p, c, Operand{Buffer: buf})
	if !done || err != nil {
		return done, err
	}
	return true, c.finish(s, device.View{Buffer: buf, DType: dt, Layout: dense})
}

// Explain implements Runner.
func (g *compiled) Explain(d *device.Device, program *Program, choice Choice) (int, string) {
	k := g.kernelsOf(d)
	if k.refused != nil {
		return 0, k.refused.Error()
	}
	p := program
	if !choice.one {
		p = stepsOf(program)
	}
	_, ready, err := k.kernel(d, p, choice.variant).Function()
	var source *device.CompileError
	switch {
	case errors.As(err, &source):
		return 0, "its generated kernel does not compile: " + source.Error()
	case err != nil:
		return 0, err.Error()
	case !ready:
		return 0, "its kernel is being compiled"
	case p != program:
		return 2, fmt.Sprintf("one computes the steps, the other %v of the result", program.Reduction.Op)
	case program.Reduction.Op == expr.Var:
		return 2, "one computes the steps and their mean, the other the steps again and Var"
	}
	return 1, ""
}
