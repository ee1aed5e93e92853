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

// Choose plans a product for a device of the given capabilities from the
// kernels in the manifest. It is a pure function: the same problem and
// capabilities give the same plan.
//
// It returns device.ErrDevice for capabilities without an SM, and for an SM that
// no kernel supports.
func Choose(p Problem, c device.Capabilities) (Plan, error) {
	plan, _, err := choose(p, c, "", cutlass.Kernels())
	return plan, err
}

// candidate is a kernel that can compute a problem, with the steps before and
// after it.
type candidate struct {
	kernel           cutlass.Kernel
	prepA, prepB     prep
	k                int  // the kernel's k: the problem's, or padded with zeros
	copyOut          bool // the kernel writes to a temporary buffer, which is copied to D
	separateEpilogue bool // separate kernels apply the epilogue
	separateSquare   bool // a separate kernel computes the squared modulus
	rows             int  // rows of one block of D; 0: D is one block
	parts, partK     int  // number of parts of k, and the length of all but the last; 0: k is not split
	cycles           float64
	steps            []Step
	workspace        int64

	// For scaled and split kernels: the form of the planes that they read, and
	// the kernel that runs if the guard rejects the data.
	form     cutlass.Form
	fallback *candidate

	// The kernel of the last rows, if it differs from kernel.
	last     *candidate
	lastRows int

	// Set by bind, from the kernel library.
	index          int
	scratch        int64 // bytes of the kernel's workspace
	prepareScratch int64 // bytes of the workspace that makes the planes
}

// choose returns the plan and the candidate that rank puts first.
func choose(p Problem, c device.Capabilities, force string, kernels []cutlass.Kernel) (Plan, candidate, error) {
	found, err := rank(p, c, force, kernels)
	if err != nil {
		return Plan{}, candidate{}, err
	}
	return found[0].plan(reason(found, force != "")), found[0], nil
}

// rank orders every kernel that can compute the problem by its predicted time. force is the
// name of the only kernel to consider, or empty. With the suffix withLast of force, another
// kernel computes the last rows. With the suffix inParts, the kernel computes parts of k.
// Without a suffix the kernel computes all rows, and k in parts only if it cannot compute
// the problem otherwise.
func rank(p Problem, c device.Capabilities, force string, kernels []cutlass.Kernel) ([]candidate, error) {
	p, err := p.normal()
	if err != nil {
		return nil, err
	}
	if c.SM == 0 {
		return nil, fmt.Errorf("%w: no capabilities are known for this device", device.ErrDevice)
	}
	ranked := lastRanks{}
	found, served := fitting(p, c, force, kernels, ranked)
	if len(found) == 0 {
		return nil, noKernel(p, c, force, served)
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

// fitting returns the candidates for a problem in the order of kernels. served reports
// whether any kernel runs on the device. force is as in rank.
func fitting(p Problem, c device.Capabilities, force string, kernels []cutlass.Kernel, ranked lastRanks) (found []candidate, served bool) {
	name, parts, last := kernelNamed(force)
	for _, k := range kernels {
		forced := name == k.Name
		if force != "" && !forced || !runsOn(k, c, forced) {
			continue
		}
		served = true
		if k.Schedule == "streamk" && !forced && streamKOf(p, k, c).sharedTiles == 0 {
			continue // without shared tiles it computes what an ordinary kernel does, and slower
		}
		cand, ok := fitWhole(p, k, c, kernels)
		ok = ok && (forced || k.Schedule != "long") // one multiprocessor for each tile would read all of k
		if ok && last {
			cand.cutLast(p, c, kernels, math.Inf(1), ranked)
			ok = cand.last != nil
		}
		if ok && !parts {
			found = append(found, cand)
			if forced { // a forced kernel divides k only if it cannot compute the problem otherwise
				continue
			}
		}
		for _, fit := range []func(Problem, cutlass.Kernel, device.Capabilities) (candidate, bool){fitParts, fitLong} {
			if cand, ok := fit(p, k, c); ok && !last {
				found = append(found, cand)
				break
			}
		}
	}
	return found, served
}

// fitWhole returns the candidate of a kernel that computes the product without dividing k.
func fitWhole(p Problem, k cutlass.Kernel, c device.Capabilities, kernels []cutlass.Kernel) (candidate, bool) {
	if k.Scaled || k.Split {
		return fitScaled(p, k, c, kernels)
	}
	return fit(p, k, c)
}

// noKernel returns the error for a problem that no kernel computes. served says that there
// are kernels for the device.
func noKernel(p Problem, c device.Capabilities, force string, served bool) error {
	switch {
	case force != "":
		return fmt.Errorf("%w: kernel %q cannot compute %v on SM %d", expr.ErrUnsupported, force, p, c.SM)
	case !served:
		return fmt.Errorf("%w: the manifest has no kernel for SM %d; they begin at SM 80", device.ErrDevice, c.SM)
	}
	return fmt.Errorf("%w: no kernel computes %v on SM %d", expr.ErrUnsupported, p, c.SM)
}

// name returns the kernel's name with the suffix that rank accepts as force.
func (c *candidate) name() string {
	switch {
	case c.parts > 0:
		return c.kernel.Name + inParts
	case c.last != nil:
		return c.kernel.Name + withLast
	}
	return c.kernel.Name
}

// kernelNamed splits a candidate's name into the kernel's name and the suffixes.
func kernelNamed(name string) (kernel string, parts, last bool) {
	kernel, parts = strings.CutSuffix(name, inParts)
	kernel, last = strings.CutSuffix(kernel, withLast)
	return kernel, parts, last
}

// plan returns the exported description of the candidate.
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

// unitSM maps each translation unit to the SM that it is compiled for; 0 means every target.
var unitSM = func() map[string]int {
	m := map[string]int{}
	for _, u := range cutlass.Units() {
		m[u.Name] = u.SM
	}
	return m
}()

// fit returns the candidate of a kernel with the steps that the problem needs. It
// reports false if the kernel has other types or another precision.
func fit(p Problem, k cutlass.Kernel, c device.Capabilities) (candidate, bool) {
	if !typesFit(p, k) || !p.computedAs(k.Math) || !conjugationFits(p, k) || !fitsGrid(p, k) {
		return candidate{}, false
	}
	cand := candidate{kernel: k, k: alignUp(p.K, k.MultipleK)}
	padK := cand.k != p.K
	cand.prepA = prepare(p.M, cand.k, p.A.Size(), p.LayoutA, k.MajorA, p.AlignA, k.AlignA, padK, !k.AbsSquare && p.ConjA && !k.ConjA)
	// For B the axes are swapped: k runs along its columns.
	cand.prepB = prepare(p.N, cand.k, p.A.Size(), swap(p.LayoutB), swapMajor(k.MajorB), p.AlignB, k.AlignB, padK, !k.AbsSquare && p.ConjB && !k.ConjB)
	cand.prepB.major = k.MajorB
	cand.addCopies(p)
	cand.addKernel(p, c, kernelCycles)
	if k.Schedule == "streamk" {
		cand.shareK(p, c)
	}
	return cand, true
}

// typesFit reports whether the kernel reads and writes the problem's types.
func typesFit(p Problem, k cutlass.Kernel) bool {
	if k.A != p.A || k.B != p.B || k.A.IsComplex() && k.AbsSquare != (p.AbsSquare && k.Out == p.Out) {
		return false
	}
	return k.AbsSquare || k.Out == p.sumType()
}

// fitsGrid reports whether the problem fits the grid of a kernel that computes one
// tile a CTA: CUDA allows 65535 CTAs along every axis but the first.
func fitsGrid(p Problem, k cutlass.Kernel) bool {
	const maxCTAs = 65535
	switch k.Schedule {
	case "single":
		return ceilDiv(p.N, k.Tile[1])+k.Cluster[1] <= maxCTAs
	case "skinny", "long":
		return ceilDiv(p.M, k.Tile[0]) <= maxCTAs && (k.Schedule != "long" || p.Batch <= maxCTAs)
	}
	return true
}

// conjugationFits reports whether the kernel conjugates A and B as the problem demands. A
// product and its conjugate have the same squared modulus, so for AbsSquare only a
// difference between A and B matters.
func conjugationFits(p Problem, k cutlass.Kernel) bool {
	if k.AbsSquare {
		return k.ConjB == (p.ConjA != p.ConjB)
	}
	return (p.ConjA || !k.ConjA) && (p.ConjB || !k.ConjB)
}

// addStep adds a pass that reads and writes all elements once, and its cycles.
func (c *candidate) addStep(kind StepKind, operand, detail string, pitch int, elements, size int) {
	bytes := 2 * int64(elements) * int64(size)
	c.steps = append(c.steps, Step{Kind: kind, Operand: operand, Detail: detail, Pitch: pitch, Bytes: bytes})
	rate := bytesPerCycle
	if kind == Transpose || kind == Pack {
		rate *= transposeRate
	}
	c.cycles += stepOverhead + float64(bytes)/rate
}

// addCopies adds the steps that copy operands.
func (c *candidate) addCopies(p Problem) {
	for _, o := range []struct {
		name string
		prep prep
	}{{"A", c.prepA}, {"B", c.prepB}} {
		if o.prep.copy {
			n := o.prep.rows * o.prep.pitch * p.Batch
			c.addStep(o.prep.kind, o.name, o.prep.why, o.prep.pitch, n, p.A.Size())
			c.workspace += int64(n) * int64(p.A.Size())
		}
	}
	if c.prepA.copiesLines() && c.prepB.copiesLines() { // one launch
		c.cycles -= stepOverhead
	}
}

// addKernel adds the kernel and the steps after it. cost returns the kernel's cycles for a
// part of the problem.
func (c *candidate) addKernel(p Problem, dev device.Capabilities, cost func(Problem, cutlass.Kernel, device.Capabilities) float64) {
	k, written := c.kernel, p.storedType(c.kernel)
	size, n := written.Size(), p.M*p.N*p.Batch
	c.separateEpilogue = !p.Epilogue.IsZero() && (!k.Epilogue || p.A.IsComplex() || c.fallback != nil && !c.fallback.kernel.Epilogue)
	c.separateSquare = p.AbsSquare && !k.AbsSquare
	c.copyOut = p.AlignC%max(k.AlignOut, p.Out.Size()) != 0 || c.separateSquare && written != p.Out
	pitch := p.N
	if c.copyOut {
		pitch = tempPitch(p, k)
	}
	kernel := c.chooseBlocks(p, dev, pitch, cost)
	c.cycles += kernel
	c.addLaunch(p)
	if c.separateEpilogue {
		c.addStep(ApplyEpilogue, "D", epilogueString(p.Epilogue), 0, n, size)
	}
	if c.copyOut {
		c.workspace += int64(c.blockRows(p)) * int64(pitch) * int64(p.Batch) * int64(size)
	}
	c.addResult(p, pitch)
}

// addResult adds the steps that square D, copy it to its destination and mirror it.
func (c *candidate) addResult(p Problem, pitch int) {
	written, n := p.storedType(c.kernel), p.M*p.N*p.Batch
	switch size := written.Size(); {
	case c.separateSquare:
		c.addStep(Square, "D", "", 0, n, size)
		if written != p.Out {
			c.cycles += stepOverhead + float64(2*n*size)/bytesPerCycle
		}
	case c.copyOut:
		c.addStep(CopyOut, "D", fmt.Sprintf("from pitch %d", pitch), 0, p.M*pitch*p.Batch, size)
	}
	if p.Symmetric && p.M > 1 {
		c.addStep(Mirror, "D", "", 0, n/2, p.Out.Size())
	}
}

// addLaunch adds the step of the kernel, and of its fallback.
func (c *candidate) addLaunch(p Problem) {
	detail := c.kernel.Name
	if c.rows > 0 {
		detail += fmt.Sprintf(", in blocks of %d rows", c.rows)
		if p.Symmetric {
			detail += " from the diagonal on"
		}
	}
	if c.fallback == nil {
		c.steps = append(c.steps, Step{Kind: Launch, Detail: detail})
		return
	}
	c.cycles += guardCycles
	c.steps = append(c.steps, Step{Kind: Launch, Detail: detail + ", where the data's spread allows it: decided on the device"},
		Step{Kind: Launch, Detail: c.fallback.kernel.Name + ", where it does not"})
}

// tempPitch returns the row pitch of a result in a temporary buffer.
func tempPitch(p Problem, k cutlass.Kernel) int {
	return alignedPitch(p.N, p.storedType(k).Size(), k.AlignOut)
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

// reason says why the first candidate was chosen, and names the next three.
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

// predicted prints the time that the model predicts.
func (c *candidate) predicted() string {
	return fmt.Sprintf("%.4g us (%.3g cycles)", c.cycles/cyclesPerMicrosecond, c.cycles)
}

// The cost of the steps before and after a kernel, in units of the model (model.go).
const (
	transposeRate = 0.8  // relative to the device's bandwidth, for a transpose
	stepOverhead  = 5500 // 3 us: a launch, and its last CTAs, while most multiprocessors are idle
	guardCycles   = 3000 // a kernel that returns at once because the guard disables it
)
