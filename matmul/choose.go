package matmul

import (
	"cmp"
	"fmt"
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
	k            int // the kernel's k: the problem's, or padded with zeros
	strip        bool
	finish       bool // the epilogue runs on its own
	cycles       float64
	steps        []Step
	workspace    int64

	// What the kernel library says of it, once it is to run.
	index   int
	scratch int64 // bytes of workspace of the kernel itself
}

// prep is how an operand reaches a kernel: as it is, or copied into a padded
// matrix of the major that the kernel reads.
type prep struct {
	copy  bool
	kind  StepKind
	major cutlass.Major
	pitch int // elements
	rows  int // lines of the copy, k padded included
	why   string
}

// choose ranks every kernel that can compute the problem. force names the
// only one to consider.
func choose(p Problem, c device.Capabilities, force string, kernels []cutlass.Kernel) (Plan, candidate, error) {
	p, err := p.normal()
	if err != nil {
		return Plan{}, candidate{}, err
	}
	if c.SM == 0 {
		return Plan{}, candidate{}, fmt.Errorf("%w: no capabilities are known for this device", device.ErrDevice)
	}
	var found []candidate
	served := false
	for _, k := range kernels {
		forced := force == k.Name
		if force != "" && !forced || !runsOn(k, c, forced) {
			continue
		}
		served = true
		if cand, ok := fit(p, k, c); ok {
			found = append(found, cand)
		}
	}
	if len(found) == 0 {
		switch {
		case force != "":
			return Plan{}, candidate{}, fmt.Errorf("%w: kernel %q cannot compute %v on SM %d", expr.ErrUnsupported, force, p, c.SM)
		case !served:
			return Plan{}, candidate{}, fmt.Errorf("%w: the manifest has no kernel for SM %d; they begin at SM 80", device.ErrDevice, c.SM)
		}
		return Plan{}, candidate{}, fmt.Errorf("%w: no kernel computes %v on SM %d", expr.ErrUnsupported, p, c.SM)
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.cycles, b.cycles) })
	best := found[0]
	plan := Plan{
		Kernel: best.kernel.Name, Tile: best.kernel.Tile, Cluster: best.kernel.Cluster, SplitK: 1,
		Steps: best.steps, Workspace: best.workspace, TensorCore: best.kernel.TensorCore,
		Reason: reason(found, force != ""),
	}
	return plan, best, nil
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
	if k.A != p.A || k.B != p.B || k.Out != p.Out || k.Math != p.math() {
		return candidate{}, false
	}
	cand := candidate{kernel: k, k: p.K}
	sizeA, sizeC := p.A.Size(), p.Out.Size()
	cand.k = alignUp(p.K, k.MultipleK)
	padK := cand.k != p.K
	cand.prepA = prepare(p.M, cand.k, sizeA, p.LayoutA, k.MajorA, p.AlignA, k.AlignA, padK)
	// B is the same question with its axes swapped: k runs along its columns.
	layoutB, majorB := p.LayoutB, k.MajorB
	cand.prepB = prepare(p.N, cand.k, sizeA, swap(layoutB), swapMajor(majorB), p.AlignB, k.AlignB, padK)
	cand.prepB.major = k.MajorB
	cand.strip = p.AlignC%max(k.AlignOut, sizeC) != 0
	cand.finish = !p.Epilogue.IsZero() && !k.Epilogue

	step := func(kind StepKind, operand, detail string, pitch int, elements, size int) {
		bytes := 2 * int64(elements) * int64(size)
		cand.steps = append(cand.steps, Step{Kind: kind, Operand: operand, Detail: detail, Pitch: pitch, Bytes: bytes})
		rate := bytesPerCycle
		if kind == Transpose || kind == Pack {
			rate *= transposeRate
		}
		cand.cycles += stepOverhead + float64(bytes)/rate
	}
	for _, o := range []struct {
		name string
		prep prep
	}{{"A", cand.prepA}, {"B", cand.prepB}} {
		if o.prep.copy {
			n := o.prep.rows * o.prep.pitch * p.Batch
			step(o.prep.kind, o.name, o.prep.why, o.prep.pitch, n, sizeA)
			cand.workspace += int64(n * sizeA)
		}
	}
	cand.steps = append(cand.steps, Step{Kind: Launch, Detail: k.Name})
	cand.cycles += kernelCycles(p, k, c)
	if cand.finish {
		step(Finish, "D", epilogueString(p.Epilogue), 0, p.M*p.N*p.Batch, sizeC)
	}
	if cand.strip {
		pitch := alignUp(p.N, max(k.AlignOut, 16)/sizeC)
		n := p.M * pitch * p.Batch
		step(Strip, "D", fmt.Sprintf("from pitch %d", pitch), 0, n, sizeC)
		cand.workspace += int64(n * sizeC)
	}
	return cand, true
}

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
func prepare(mn, k, size int, have Layout, want cutlass.Major, align, need int, padK bool) prep {
	q := prep{major: want}
	switch {
	case have == Strided:
		q.kind, q.why = Pack, "(contiguous along neither axis)"
	case (have == RowMajor) != (want == cutlass.RowMajor):
		q.kind, q.why = Transpose, "(the kernel reads the other major)"
	case align%max(need, size) != 0:
		q.kind, q.why = Pad, fmt.Sprintf("(aligned to %d bytes, the kernel needs %d)", align, need)
	case padK:
		q.kind, q.why = Pad, "(k filled up with zeros)"
	default:
		return q
	}
	q.copy = true
	line, lines := k, mn
	if want == cutlass.ColMajor {
		line, lines = mn, k
	}
	q.rows, q.pitch = lines, alignUp(line, max(need, 16)/size)
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
	switch {
	case forced:
		return "asked for by name"
	case len(found) == 1:
		return "the only kernel for these types and this precision"
	}
	s := fmt.Sprintf("fewest predicted cycles, %.3g, of %d kernels", found[0].cycles, len(found))
	for _, f := range found[1:min(len(found), 3)] {
		s += fmt.Sprintf("; then %s, %.3g", f.kernel.Name, f.cycles)
	}
	return s
}

// The model of a kernel's time, in cycles of one multiprocessor:
//
//	launch + waves * tile / (dense peak * reach * rate of the tile)
//
// fitted to tiles of 64x128 to 128x256 on an H200 between 1024 and 8192 cubed,
// where it orders them as the clock does. Rates of the units are the dense
// peaks of NVIDIA's data sheet, a multiprocessor and cycle.
const (
	bytesPerCycle = 2280. // the whole device: 4.1 TB/s at 1.8 GHz
	transposeRate = 0.8   // of that, when lines become columns
	stepOverhead  = 5500  // 3 us: a launch and its tail
	launchCycles  = 8100  // filling the pipeline, the last tile's epilogue
	reach         = 0.9   // of the peak, by any tile
)

var flopsPerCycle = map[string]float64{
	"bf16": 4096, "fp16": 4096, "tf32": 2048, "fp64": 256, "fp32": 256, "c64": 256, "c128": 256, "int": 64,
}

// defaultSMs stands for a device whose multiprocessors are not counted.
const defaultSMs = 132

func kernelCycles(p Problem, k cutlass.Kernel, c device.Capabilities) float64 {
	sms := c.MultiProcessors
	if sms == 0 {
		sms = defaultSMs
	}
	flops := 2.0
	if p.A.IsComplex() {
		flops = 8
	}
	tm, tn := max(k.Tile[0], 1), max(k.Tile[1], 1)
	tiles := ((p.M + tm - 1) / tm) * ((p.N + tn - 1) / tn) * p.Batch
	tiles = alignUp(tiles, k.Cluster[0]*k.Cluster[1])
	waves := (tiles + sms - 1) / sms
	perTile := flops * float64(tm) * float64(tn) * float64(p.K) / (flopsPerCycle[k.Math] * reach * tileRate(k))
	compute := launchCycles + float64(waves)*perTile
	size := float64(p.A.Size())
	memory := (size*float64(p.K)*float64(p.M+p.N) + float64(p.Out.Size())*float64(p.M)*float64(p.N)) * float64(p.Batch) / bytesPerCycle
	return max(compute, memory)
}

// tileRate is what a tile keeps of the rate over many waves: operands come
// through shared memory, so that a small tile's products wait for them, and
// pingpong alone hides a tile's epilogue under the next one's products.
func tileRate(k cutlass.Kernel) float64 {
	switch area := k.Tile[0] * k.Tile[1]; {
	case area <= 64*64:
		return 0.6
	case area <= 64*128:
		return 0.85
	case k.Schedule == "pingpong":
		return 1
	case area == 128*192:
		return 0.97
	}
	return 0.98
}
