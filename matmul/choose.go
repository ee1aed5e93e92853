package matmul

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
)

// Choose plans a product for a device of the given capabilities out of the
// kernels in the manifest. It is a pure function: the same problem and
// capabilities give the same plan, and nothing is touched.
//
// Capabilities without an SM, or of an SM that no kernel serves, are
// device.ErrDevice.
func Choose(p Problem, c device.Capabilities) (Plan, error) {
	plan, _, err := choose(p, c, "", cutlass.Kernels())
	return plan, err
}

// candidate is a kernel that can compute a problem, with what must happen
// around it.
type candidate struct {
	kernel       cutlass.Kernel
	prepA, prepB prep
	k            int  // the kernel's k: the problem's, or padded with zeros
	strip        bool // the kernel writes aside, and the result is copied into its place
	finish       bool // the epilogue runs on its own
	square       bool // the squared modulus is taken on its own
	rows         int  // of a block of D that is computed at a time; 0: all
	parts        int  // that k is cut into; 0: it is not
	cycles       float64
	steps        []Step
	workspace    int64

	// Of scaled and split kernels: the form of the planes that they read, and
	// what runs where the data do not fit it.
	form  cutlass.Form
	other *candidate

	// Of products whose last rows another kernel computes.
	last     *candidate
	lastRows int

	// What the kernel library says of it, once it is to run.
	index          int
	scratch        int64 // bytes of workspace of the kernel itself
	prepareScratch int64 // and of what makes its planes
}

// prep is how an operand reaches a kernel: as it is, or copied into a padded
// matrix of the major that the kernel reads.
type prep struct {
	copy  bool
	conj  bool // the copy is the conjugate
	kind  StepKind
	major cutlass.Major
	pitch int // elements
	rows  int // lines of the copy, k padded included
	why   string
}

// choose takes the first of rank.
func choose(p Problem, c device.Capabilities, force string, kernels []cutlass.Kernel) (Plan, candidate, error) {
	found, err := rank(p, c, force, kernels)
	if err != nil {
		return Plan{}, candidate{}, err
	}
	return found[0].plan(reason(found, force != "")), found[0], nil
}

// rank orders every kernel that can compute the problem by its predicted time.
// force names the only one to consider: it computes all rows, or, with withLast behind
// the name, leaves the last to another; with inParts it takes no other way than in
// parts of k.
func rank(p Problem, c device.Capabilities, force string, kernels []cutlass.Kernel) ([]candidate, error) {
	p, err := p.normal()
	if err != nil {
		return nil, err
	}
	if c.SM == 0 {
		return nil, fmt.Errorf("%w: no capabilities are known for this device", device.ErrDevice)
	}
	var found []candidate
	served := false
	name, parts, last := kernelNamed(force)
	ranked := lasts{}
	for _, k := range kernels {
		forced := name == k.Name
		if force != "" && !forced || !runsOn(k, c, forced) {
			continue
		}
		served = true
		if k.Schedule == "streamk" && !forced && streamKOf(p, k, c).shared == 0 {
			continue // an ordinary kernel then, and a slower one
		}
		var cand candidate
		var ok bool
		if k.Scaled || k.Split {
			cand, ok = fitScaled(p, k, c, kernels)
		} else {
			cand, ok = fit(p, k, c)
		}
		if ok && last {
			cand.cutLast(p, c, kernels, math.Inf(1), ranked)
			ok = cand.last != nil
		}
		if ok && !parts {
			found = append(found, cand)
			if forced { // as it is, where that will do
				continue
			}
		}
		if cand, ok := fitParts(p, k, c); ok && !last {
			found = append(found, cand)
		}
	}
	if len(found) == 0 {
		switch {
		case force != "":
			return nil, fmt.Errorf("%w: kernel %q cannot compute %v on SM %d", expr.ErrUnsupported, force, p, c.SM)
		case !served:
			return nil, fmt.Errorf("%w: the manifest has no kernel for SM %d; they begin at SM 80", device.ErrDevice, c.SM)
		}
		return nil, fmt.Errorf("%w: no kernel computes %v on SM %d", expr.ErrUnsupported, p, c.SM)
	}
	byCycles := func(a, b candidate) int { return cmp.Compare(a.cycles, b.cycles) }
	slices.SortStableFunc(found, byCycles)
	if force == "" {
		for i := range found {
			found[i].cutLast(p, c, kernels, found[0].cycles, ranked)
		}
		slices.SortStableFunc(found, byCycles)
	}
	return found, nil
}

// name is what rank knows the candidate by.
func (c *candidate) name() string {
	switch {
	case c.parts > 0:
		return c.kernel.Name + inParts
	case c.last != nil:
		return c.kernel.Name + withLast
	}
	return c.kernel.Name
}

// kernelNamed takes a candidate's name apart.
func kernelNamed(name string) (kernel string, parts, last bool) {
	kernel, parts = strings.CutSuffix(name, inParts)
	kernel, last = strings.CutSuffix(kernel, withLast)
	return kernel, parts, last
}

// plan is what the candidate looks like from outside.
func (c *candidate) plan(reason string) Plan {
	return Plan{
		Kernel: c.kernel.Name, Tile: c.kernel.Tile, Cluster: c.kernel.Cluster, SplitK: max(1, c.kernel.Parts, c.parts),
		Steps: c.steps, Workspace: c.workspace, TensorCore: c.kernel.TensorCore, Reason: reason,
	}
}

// runsOn reports whether a kernel's machine code exists for the device.
// Kernels of sm_90a run on nothing else; those of the SM 80 family run on 80 to
// 89, through their PTX on 100 and later, and on 90 only when forced.
func runsOn(k cutlass.Kernel, c device.Capabilities, forced bool) bool {
	switch {
	case c.SM < 80:
		return false
	case k.SM == 90:
		return c.SM == 90
	case unitSM[k.Unit] == 80:
		return c.SM != 90 || forced
	}
	return true
}

// unitSM is what each translation unit is compiled for; 0 is every target.
var unitSM = func() map[string]int {
	m := map[string]int{}
	for _, u := range cutlass.Units() {
		m[u.Name] = u.SM
	}
	return m
}()

// fit says what a kernel needs to compute the problem; ok is false when types
// or precision are not its own.
func fit(p Problem, k cutlass.Kernel, c device.Capabilities) (candidate, bool) {
	if k.A != p.A || k.B != p.B || !p.computedAs(k.Math) || !conjugates(p, k) || !gridHolds(p, k) {
		return candidate{}, false
	}
	if k.AbsSquare != (p.AbsSquare && k.Out == p.Out) && k.A.IsComplex() || !k.AbsSquare && k.Out != p.sum() {
		return candidate{}, false
	}
	cand := candidate{kernel: k, k: alignUp(p.K, k.MultipleK)}
	padK := cand.k != p.K
	cand.prepA = prepare(p.M, cand.k, p.A.Size(), p.LayoutA, k.MajorA, p.AlignA, k.AlignA, padK, !k.AbsSquare && p.ConjA && !k.ConjA)
	// B is the same question with its axes swapped: k runs along its columns.
	cand.prepB = prepare(p.N, cand.k, p.A.Size(), swap(p.LayoutB), swapMajor(k.MajorB), p.AlignB, k.AlignB, padK, !k.AbsSquare && p.ConjB && !k.ConjB)
	cand.prepB.major = k.MajorB
	cand.copies(p)
	cand.around(p, c, kernelCycles)
	if k.Schedule == "streamk" {
		cand.shareK(p, c)
	}
	return cand, true
}

// gridHolds reports whether a kernel of one tile a CTA has a grid for the
// problem: at most 65535 CTAs along all axes but the first.
func gridHolds(p Problem, k cutlass.Kernel) bool {
	const most = 65535
	switch k.Schedule {
	case "single":
		return ceilDiv(p.N, k.Tile[1])+k.Cluster[1] <= most
	case "skinny":
		return ceilDiv(p.M, k.Tile[0]) <= most
	}
	return true
}

// conjugates reports whether a kernel that multiplies conjugates multiplies
// this problem's. A squared modulus is the same for the conjugate product: it
// matters only whether the operands differ in it.
func conjugates(p Problem, k cutlass.Kernel) bool {
	if k.AbsSquare {
		return k.ConjB == (p.ConjA != p.ConjB)
	}
	return (p.ConjA || !k.ConjA) && (p.ConjB || !k.ConjB)
}

// step adds a pass over elements, all read and written once.
func (c *candidate) step(kind StepKind, operand, detail string, pitch int, elements, size int) {
	bytes := 2 * int64(elements) * int64(size)
	c.steps = append(c.steps, Step{Kind: kind, Operand: operand, Detail: detail, Pitch: pitch, Bytes: bytes})
	rate := bytesPerCycle
	if kind == Transpose || kind == Pack {
		rate *= transposeRate
	}
	c.cycles += stepOverhead + float64(bytes)/rate
}

// copies adds the steps that copy operands.
func (c *candidate) copies(p Problem) {
	for _, o := range []struct {
		name string
		prep prep
	}{{"A", c.prepA}, {"B", c.prepB}} {
		if o.prep.copy {
			n := o.prep.rows * o.prep.pitch * p.Batch
			c.step(o.prep.kind, o.name, o.prep.why, o.prep.pitch, n, p.A.Size())
			c.workspace += int64(n) * int64(p.A.Size())
		}
	}
	if c.prepA.pads() && c.prepB.pads() { // one launch
		c.cycles -= stepOverhead
	}
}

// pads reports whether the copy has the lines of what is copied, as they run.
func (q prep) pads() bool { return q.copy && q.kind == Pad && !q.conj }

// around adds the kernel and what follows it. cost is the kernel's time on a
// part of the problem.
func (c *candidate) around(p Problem, dev device.Capabilities, cost func(Problem, cutlass.Kernel, device.Capabilities) float64) {
	k, written := c.kernel, p.written(c.kernel)
	size, n := written.Size(), p.M*p.N*p.Batch
	c.finish = !p.Epilogue.IsZero() && (!k.Epilogue || p.A.IsComplex() || c.other != nil && !c.other.kernel.Epilogue)
	c.square = p.AbsSquare && !k.AbsSquare
	c.strip = p.AlignC%max(k.AlignOut, p.Out.Size()) != 0 || c.square && written != p.Out
	pitch := p.N
	if c.strip {
		pitch = asidePitch(p, k)
	}
	kernel := c.block(p, dev, pitch, cost)
	c.cycles += kernel
	detail := k.Name
	if c.rows > 0 {
		detail += fmt.Sprintf(", in blocks of %d rows", c.rows)
		if p.Symmetric {
			detail += " from the diagonal on"
		}
	}
	if c.other == nil {
		c.steps = append(c.steps, Step{Kind: Launch, Detail: detail})
	} else {
		c.cycles += guardCycles
		c.steps = append(c.steps, Step{Kind: Launch, Detail: detail + ", where the data's spread allows it: decided on the device"},
			Step{Kind: Launch, Detail: c.other.kernel.Name + ", where it does not"})
	}
	if c.finish {
		c.step(Finish, "D", epilogueString(p.Epilogue), 0, n, size)
	}
	if c.strip {
		rows := p.M
		if c.rows > 0 {
			rows = c.rows
		}
		c.workspace += int64(rows) * int64(pitch) * int64(p.Batch) * int64(size)
	}
	switch {
	case c.square:
		c.step(Square, "D", "", 0, n, size)
		if written != p.Out {
			c.cycles += stepOverhead + float64(2*n*size)/bytesPerCycle
		}
	case c.strip:
		c.step(Strip, "D", fmt.Sprintf("from pitch %d", pitch), 0, p.M*pitch*p.Batch, size)
	}
	if p.Symmetric && p.M > 1 {
		c.step(Mirror, "D", "", 0, n/2, p.Out.Size())
	}
}

// asidePitch is the pitch of a result that is written aside.
func asidePitch(p Problem, k cutlass.Kernel) int {
	return madePitch(p.N, p.written(k).Size(), k.AlignOut)
}

// madePitch is the pitch, in elements, of lines that a step makes: a multiple of
// what a kernel needs, and for long lines of a cache line. TMA copies them in
// pieces of 128 bytes, each of which would touch two cache lines.
func madePitch(length, size, need int) int {
	unit := max(need, 16)
	if length*size >= longLine {
		unit = max(unit, cacheLine)
	}
	return alignUp(length, unit/size)
}

const (
	cacheLine = 128 // bytes
	longLine  = 512 // bytes from which rounding up to it costs little
)

func swap(l Layout) Layout {
	switch l {
	case RowMajor:
		return ColMajor
	case ColMajor:
		return RowMajor
	}
	return l
}

func swapMajor(m cutlass.Major) cutlass.Major { return cutlass.ColMajor - m }

func alignUp(n, unit int) int {
	if unit <= 1 {
		return n
	}
	return (n + unit - 1) / unit * unit
}

// prepare decides for an operand of mn x k, RowMajor meaning that k is
// contiguous.
func prepare(mn, k, size int, have Layout, want cutlass.Major, align, need int, padK, conj bool) prep {
	q := prep{major: want, conj: conj}
	switch {
	case have == Strided:
		q.kind, q.why = Pack, "(contiguous along neither axis)"
	case (have == RowMajor) != (want == cutlass.RowMajor):
		q.kind, q.why = Transpose, "(the kernel reads the other major)"
	case align%max(need, size) != 0:
		q.kind, q.why = Pad, fmt.Sprintf("(aligned to %d bytes, the kernel needs %d)", align, need)
	case padK:
		q.kind, q.why = Pad, "(k filled up with zeros)"
	case conj:
		q.kind, q.why = Pack, "(conjugated)"
	default:
		return q
	}
	if q.copy = true; conj && q.why != "(conjugated)" {
		q.why = strings.TrimSuffix(q.why, ")") + "; conjugated)"
	}
	line, lines := k, mn
	if want == cutlass.ColMajor {
		line, lines = mn, k
	}
	q.rows, q.pitch = lines, madePitch(line, size, need)
	return q
}

func epilogueString(e Epilogue) string {
	var parts []string
	if e.Bias {
		parts = append(parts, "bias")
	}
	if e.Activation != NoActivation {
		parts = append(parts, e.Activation.String())
	}
	return strings.Join(parts, " and ")
}

// reason says why the winner won, and names the runners-up.
func reason(found []candidate, forced bool) string {
	if forced {
		return "asked for by name"
	}
	s := ""
	if len(found) == 1 {
		s = "the only kernel for these types and this precision; "
	}
	s += "predicted " + found[0].predicted()
	if len(found) > 1 {
		s += fmt.Sprintf(", the least of %d", len(found))
	}
	for _, f := range found[1:min(len(found), 4)] {
		s += fmt.Sprintf("; then %s, %s", f.kernel.Name, f.predicted())
	}
	return s
}

// predicted is the model's time, in words.
func (c *candidate) predicted() string {
	return fmt.Sprintf("%.4g us (%.3g cycles)", c.cycles/cyclesPerMicrosecond, c.cycles)
}

// What the passes around a kernel cost, in the terms of its model (model.go).
const (
	transposeRate = 0.8  // of the device's bytes, when lines become columns
	stepOverhead  = 5500 // 3 us: a launch and its tail
	guardCycles   = 3000 // a kernel that finds on the device that it is not to run
)
