package matmul

import (
	"math"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// float32 and complex64 products on float16 tensor cores.
//
// float16 has TF32's 11 significant bits at twice its rate, but not its range.
// FormScaled therefore scales each line, a row of A or a column of B, by the power
// of two that brings its largest element into [2^14, 2^15), which is exact, and
// rounds it to float16. The kernel's epilogue undoes the scales. FormSplit keeps
// the rounding error of each element, times 2^11, in a second plane, which gives 22
// bits together, and the kernel sums three products. A complex product is computed
// as a real one of twice the k and n, in which neighbouring columns are real and
// imaginary parts.
//
// The danger is an element so far below the largest of its line that float16
// holds it as a subnormal number or as 0. With x' the scaled elements, |x'| at most
// 2^15, the error of rounding is
//
//	scaled:  |dx'| <= 2^-11 |x'| where |x'| >= 2^-14, else 2^-25
//	split:   |dx'| <= 2^-22 |x'| where |x'| >= 2^-14, else 2^-36
//
// The relative errors are those of TF32 and of a 22-bit number. The absolute errors
// are at most 2^-39 and 2^-50 of the line's largest element, and only elements below
// 2^-28 of it have them. They matter if such an element is multiplied by a large one
// while the sum of all |a||b| is small. The guard excludes this case. gpk_prepare
// counts, in each line, the elements below 2^-10 of the largest, and the kernel runs
// only if
//
//	max over rows (count) + max over columns (count) < limit = k + 1 - ceil(k/s)
//
// Then for every row and column there are at least ceil(k/s) indices of k at which
// neither element is below that bound. With A and B the largest elements,
//
//	sum |a||b| >= k/s 2^-20 A B
//
// The counts also bound the number of terms with an absolute error, by k. These
// errors add at most
//
//	scaled:  k 2^-39 A B <= s 2^-19 sum |a||b| = 2^-14 sum |a||b| with s = 32
//	split:   k 2^-50 A B <= s 2^-30 sum |a||b| = 2^-24 sum |a||b| with s = 64
//
// to TF32's 2^-10 sum |a||b| (two operands of relative error 2^-11 each) and to the
// split form's 3 2^-22 (two operands, and the omitted product of the two second
// planes). Data that the guard rejects, which includes lines that are not finite or
// outside [2^-60, 2^60], are computed by a float32 or TF32 kernel. The device decides
// which of the two kernels runs, so that the host need not wait: both are launched,
// and one of them returns immediately.
const (
	scaledShare = 32
	splitShare  = 64
	minFormK    = 2       // smallest k for which planes are made: a matrix with k = 1 has no major
	maxGuarded  = 1 << 29 // k that the guard's numbers can tell from "not finite", 2^30
)

// guardLimit returns the guard's limit for a real product of k terms.
func guardLimit(form cutlass.Form, k int) int {
	share := scaledShare
	if form == cutlass.FormSplit {
		share = splitShare
	}
	return k + 1 - (k+share-1)/share
}

// formOf returns the form that a kernel reads, 0 for none.
func formOf(k cutlass.Kernel) cutlass.Form {
	switch {
	case k.Split:
		return cutlass.FormSplit
	case k.Scaled:
		return cutlass.FormScaled
	}
	return 0
}

// formFor returns the form whose kernels have the given precision, 0 for none.
func formFor(t dtype.DType, p Precision) cutlass.Form {
	switch {
	case t != dtype.Float32 && t != dtype.Complex64:
		return 0
	case p == TF32:
		return cutlass.FormScaled
	}
	return cutlass.FormSplit
}

// formFits reports whether gpk_prepare accepts an operand with the given number of
// lines in each member of the batch.
func formFits(t dtype.DType, lines, k, copies int) bool {
	factor := 1
	if t.IsComplex() {
		factor = 2
	}
	return factor*k <= maxGuarded && factor*lines <= maxGuarded && lines*copies <= math.MaxInt32
}

// planesCount returns the number of planes of an operand.
func planesCount(f cutlass.Form) int { return int(f) }

// realSizes returns n and k of the real product that computes a complex one.
func (p Problem) realSizes() (n, k int) {
	if p.A.IsComplex() {
		return 2 * p.N, 2 * p.K
	}
	return p.N, p.K
}

// fitScaled is fit for a kernel that reads planes of float16.
func fitScaled(p Problem, k cutlass.Kernel, c device.Capabilities, kernels []cutlass.Kernel) (candidate, bool) {
	form := formOf(k)
	if formFor(p.A, p.Precision) != form {
		return candidate{}, false
	}
	if k.Schedule == "few" {
		return fitFew(p, k, c, kernels)
	}
	_, depth := p.realSizes()
	if k.AbsSquare && !(p.AbsSquare && p.A.IsComplex()) || !p.planesFit() {
		return candidate{}, false
	}
	cand := candidate{kernel: k, k: depth, form: form}
	size := p.A.Size()

	// A plane is contiguous along the same axis as its source. If the kernel reads
	// the other major, or the source is contiguous along neither axis, the source is
	// copied first, and all later steps read the copy.
	q := p
	cand.prepA = prepare(p.M, p.K, size, p.LayoutA, k.MajorA, size, size, false, false)
	cand.prepB = prepare(p.N, p.K, size, swap(p.LayoutB), swapMajor(k.MajorB), size, size, false, false)
	cand.prepB.major = k.MajorB
	if p.Packed && cand.prepB.copy {
		return candidate{}, false
	}
	if cand.prepA.copy {
		q.LayoutA, q.AlignA = Layout(k.MajorA), 16
	}
	if cand.prepB.copy {
		q.LayoutB, q.AlignB = Layout(k.MajorB), 16
	}
	if cand.fallback = fallbackOf(q, k, c, kernels); cand.fallback == nil {
		return candidate{}, false
	}
	cand.addCopies(p)
	cand.addPlanes("A", p.A, p.M*p.K*p.Batch)
	if !p.Packed {
		cand.addPlanes("B", p.A, p.N*p.K*p.Batch)
	}
	cand.addKernel(p, c, scaledCycles)
	return cand, true
}

// planesFit reports whether both operands can be written as planes, and k is long enough.
func (p Problem) planesFit() bool {
	return p.K >= minFormK && formFits(p.A, p.M, p.K, p.Batch) && formFits(p.B, p.N, p.K, p.Batch)
}

// addPlanes adds the step that writes the planes of an operand, A or B, with elements of
// type t. One launch writes the planes of both operands.
func (c *candidate) addPlanes(operand string, t dtype.DType, elements int) {
	in, out := int64(elements*t.Size()), int64(planesCount(c.form))*int64(elements)*2
	if t.IsComplex() {
		out *= 2
		if operand == "B" {
			out *= 2
		}
	}
	kind, detail := Scale, "to float16"
	if c.form == cutlass.FormSplit {
		kind, detail = ScaleSplit, "into two float16"
	}
	if last := len(c.steps) - 1; last >= 0 && c.steps[last].Kind == kind {
		c.steps[last].Operand += " and " + operand
		c.steps[last].Bytes += in + out
	} else {
		c.steps = append(c.steps, Step{Kind: kind, Operand: operand, Detail: detail, Bytes: in + out})
		c.cycles += prepareCycles
	}
	c.workspace += out
	c.cycles += float64(in+out) / (bytesPerCycle * prepareRate)
}

// fitFew is fit for the kernel of few rows. It reads the planes of a packed B, and A
// without a copy. It always writes D. If the guard rejects the data, the fallback kernel
// runs behind it and overwrites D.
func fitFew(p Problem, k cutlass.Kernel, c device.Capabilities, kernels []cutlass.Kernel) (candidate, bool) {
	if !p.Packed || p.A.IsComplex() || p.Batch > 1 || p.Symmetric || p.AbsSquare || p.M > k.Tile[0] || p.K < minFormK ||
		p.LayoutA != Layout(k.MajorA) || p.LayoutB != Layout(k.MajorB) || p.AlignA%k.AlignA != 0 ||
		!formFits(p.B, p.N, p.K, 1) {
		return candidate{}, false
	}
	cand := candidate{kernel: k, k: p.K, form: formOf(k), workspace: 4 * cutlass.GuardWords}
	cand.prepA.major, cand.prepB.major = k.MajorA, k.MajorB
	if cand.fallback = fallbackOf(p, k, c, kernels); cand.fallback == nil {
		return candidate{}, false
	}
	cand.addKernel(p, c, fewCycles)
	return cand, true
}

// few reports whether the candidate's kernel is the one for few rows, which reads A without
// a copy.
func (c *candidate) few() bool { return c.kernel.Schedule == "few" }

// fallbackOf returns the candidate that computes the product if the guard rejects the data:
// the fastest kernel that has at least the requested precision, accepts a guard and needs
// no copies of the operands. A copy would run even if the guard accepts the data.
func fallbackOf(p Problem, main cutlass.Kernel, c device.Capabilities, kernels []cutlass.Kernel) *candidate {
	var best *candidate
	for _, k := range kernels {
		if formOf(k) != 0 || !guardable(k) || k.AbsSquare != main.AbsSquare || !runsOn(k, c, false) {
			continue
		}
		for _, precision := range []Precision{p.Precision, FullPrecision} {
			q := p
			q.Precision, q.Symmetric = precision, false
			if main.AlignOut == 16 {
				q.AlignC = 16 // both kernels write the same buffer, which is aligned for the main kernel
			}
			cand, ok := fit(q, k, c)
			if ok && !cand.prepA.copy && !cand.prepB.copy && !cand.copyOut && (best == nil || cand.cycles < best.cycles) {
				best = &cand
			}
		}
	}
	return best
}

// guardable reports whether a kernel accepts a guard.
func guardable(k cutlass.Kernel) bool {
	return k.Schedule != "long" && k.Schedule != "plain" || k.AbsSquare || k.ConjA || k.ConjB
}

// The cost of making the planes, in cycles of the model.
const (
	prepareCycles = 7000 // a launch, and the latency of one line
	prepareRate   = 0.9  // relative to the device's bandwidth
	fewRate       = 0.96 // likewise, for the kernel of few rows
)

// fewCycles returns the predicted time of the kernel for few rows: the time to read B's
// plane from memory, and all of A from L2 in each CTA.
func fewCycles(p Problem, k cutlass.Kernel, c device.Capabilities) float64 {
	sms := c.MultiProcessors
	if sms == 0 {
		sms = defaultSMs
	}
	m, n, depth := float64(p.M), float64(p.N), float64(p.K)
	tiles := float64(ceilDiv(p.N, k.Tile[1]))
	memory := (2*n*depth + 4*m*n) / (bytesPerCycle * fewRate * math.Min(1, tiles/float64(sms)))
	return launchCycles + memory + 4*m*depth*tiles/(l2Rate*float64(sms))
}

// scaledCycles returns kernelCycles of the real product that a scaled or split kernel
// computes.
func scaledCycles(p Problem, k cutlass.Kernel, c device.Capabilities) float64 {
	p.N, p.K = p.realSizes()
	p.A, p.Out = dtype.Float16, dtype.Float32
	if k.Split {
		p.A = dtype.Float32 // an element has the bytes of its two planes
	}
	if k.AbsSquare {
		p.Out = dtype.Float16 // each of the 2n real columns gives half a float32
	}
	return kernelCycles(p, k, c)
}
