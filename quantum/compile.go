package quantum

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpk-go/gpk"
)

// kernel is a circuit compiled for a Gram matrix: K is the element-wise product of the
// kernels of its blocks and of its single wires.
type kernel struct {
	qubits   int
	features int
	path     Path // Product or General
	wires    []*program
	blocks   []*program
	notes    []string // the compiler's simplifications, for Plan.Reason
	codes    gramCodes
	closed   closedForm
}

// compileStates compiles a circuit for its states: one program for all wires, with every
// gate. Wires that SWAPs exchange are numbered as at the end from the beginning.
func compileStates(c *Circuit) (*program, error) {
	gates, at := dropConstantControls(c.gates, c.qubits)
	final := make([]int, c.qubits)
	for w, i := range at {
		final[i] = w
	}
	for i := range gates {
		g := &gates[i]
		if g.a = final[g.a]; g.b >= 0 {
			g.b = final[g.b]
		}
	}
	p, err := compileAllWires(gates, c.qubits)
	if err == nil && p.phase >= 0 && !isSign(p.angles.angles[p.phase]) {
		p.real = false
	}
	return p, err
}

// compileAllWires compiles gates on all wires into one program.
func compileAllWires(gates []gate, qubits int) (*program, error) {
	if qubits > maxStateQubits {
		return nil, tooManyQubits(qubits)
	}
	wires := make([]int, qubits)
	for i := range wires {
		wires[i] = i
	}
	b := newBlock(gates, wires)
	b.simplify()
	return b.lower(), nil
}

func tooManyQubits(n int) error {
	return fmt.Errorf("%w: %d connected qubits have 2^%d amplitudes; at most %d can be simulated", gpk.ErrUnsupported, n, n, maxStateQubits)
}

// compilation is a kernel with the input from which it was compiled.
type compilation struct {
	gates  int
	path   Path
	kernel *kernel
}

// compileGram compiles a circuit for its Gram matrices. It caches the result for the
// circuit's present number of gates: a matrix of few qubits takes less time than compiling.
func compileGram(c *Circuit, path Path) (*kernel, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	if old := c.kernel.Load(); old != nil && old.gates == len(c.gates) && old.path == path {
		return old.kernel, nil
	}
	k, err := compileKernel(c, path)
	if err != nil {
		return nil, err
	}
	c.kernel.Store(&compilation{len(c.gates), path, k})
	return k, nil
}

func compileKernel(c *Circuit, path Path) (*kernel, error) {
	k := &kernel{qubits: c.qubits, features: c.Features(), path: General}
	gates, _ := dropConstantControls(c.gates, c.qubits)
	if path == General {
		p, err := compileAllWires(gates, c.qubits)
		if err != nil {
			return nil, err
		}
		p.phase = -1 // the modulus of e^(i phase) is 1
		k.blocks = []*program{p}
		k.note("all %d qubits together, as asked", c.qubits)
		k.noteReal()
		return k, nil
	}
	dropped := 0
	groups, of := gateGroups(gates, c.qubits)
	if slices.ContainsFunc(groups, func(g []int) bool { return len(g) > 64 }) {
		// There are too many wires for steps, so only the rules that work on gates apply.
		gates, dropped = dropConstantTail(gates, c.qubits)
		groups, of = gateGroups(gates, c.qubits)
	}
	var connected gate // a two-qubit gate of the first block
	for i, wires := range groups {
		if len(of[i]) == 0 {
			continue // |0> for every sample: the factor is 1
		}
		if len(wires) > 64 {
			return nil, tooManyQubits(len(wires))
		}
		b := newBlock(of[i], wires)
		b.phase = Angle{} // the modulus of e^(i phase) is 1
		b.simplify()
		dropped += b.dropTail()
		for _, part := range b.split() {
			part.simplify()
			switch {
			case len(part.steps) == 0:
			case len(part.wires) == 1:
				k.wires = append(k.wires, part.lower())
			case len(part.wires) > maxStateQubits:
				return nil, tooManyQubits(len(part.wires))
			default:
				if len(k.blocks) == 0 {
					connected = connection(of[i], part.wires)
				}
				k.blocks = append(k.blocks, part.lower())
			}
		}
	}
	if dropped > 0 {
		k.note("%d gates or parts of angles at the end are the same for all samples and were dropped", dropped)
	}
	if len(k.blocks) == 0 {
		k.path = Product
		k.note("nothing entangles: a closed form over %d qubits", len(k.wires))
		return k, nil
	}
	if path == Product {
		return nil, fail(connected.site, connected.String(), fmt.Errorf("%w: path Product, but this gate entangles qubits depending on the sample; Auto or General computes it", gpk.ErrUnsupported))
	}
	k.noteFactors()
	k.noteReal()
	return k, nil
}

// noteFactors adds a note on the factors of K, unless K comes from one state of all qubits.
func (k *kernel) noteFactors() {
	if len(k.blocks) == 1 && len(k.wires) == 0 && k.blocks[0].qubits == k.qubits {
		return
	}
	var sizes []string
	for _, b := range k.blocks {
		sizes = append(sizes, fmt.Sprint(b.qubits))
	}
	k.note("K is a product over blocks of %s connected qubits and %d single ones", strings.Join(sizes, ", "), len(k.wires))
}

// connection returns a gate that connects two of a block's wires.
func connection(gates []gate, wires []int) gate {
	i := slices.IndexFunc(gates, func(g gate) bool { return g.b >= 0 && slices.Contains(wires, g.a) && slices.Contains(wires, g.b) })
	if i < 0 {
		i = max(slices.IndexFunc(gates, func(g gate) bool { return g.b >= 0 }), 0)
	}
	return gates[i]
}

func (k *kernel) note(format string, args ...any) {
	k.notes = append(k.notes, fmt.Sprintf(format, args...))
}

func (k *kernel) noteReal() {
	n := 0
	for _, b := range k.blocks {
		if b.real {
			n++
		}
	}
	switch {
	case n == len(k.blocks):
		k.note("real amplitudes: a quarter of the work")
	case n > 0:
		k.note("%d of %d blocks have real amplitudes", n, len(k.blocks))
	}
}

// width returns the number of real numbers in a state.
func (p *program) width() int {
	if p.real {
		return 1 << p.qubits
	}
	return 2 << p.qubits
}

// width returns the number of real numbers in a sample's states in all blocks.
func (k *kernel) width() (n int) {
	for _, b := range k.blocks {
		n += b.width()
	}
	return n + 3*len(k.wires)
}
