package matmul

import (
	"math"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// The model of a kernel's time, in cycles of one multiprocessor at 1.8 GHz. A
// multiprocessor computes its share of the tiles one after the other, and each
// of them in steps of the tile's k:
//
//	launch + (compute^sharpness + memory^sharpness)^(1/sharpness)
//	compute = tiles of a multiprocessor * (steps * step + epilogue)
//	step    = max(products / peak rate, bytes from shared memory, bytes from L2)
//	memory  = bytes of A, B and D / bandwidth
//
// A pingpong kernel hides all epilogues except the last. A kernel with one tile per
// CTA pays the start of a CTA for each tile. In a product that takes more than 83 us,
// reads from shared memory draw power and lower the clock, fully from 170 us on.
//
// The numbers were fitted to 317 timings of the manifest's wgmma tiles on an
// H200, of bfloat16 and TF32 products from 512 to 8192 cubed, of 1 to 128 rows,
// and of batches, each launched before the previous one had ended. They predict
// a time to 11 % (root mean square), and the tile of least cycles was at most
// 2.4 % slower than the fastest that was measured. The numbers of TF32 through
// registers were read from 40 later timings, those of large products of halves from
// 60, of float64 in rings from 90, and of a column-major B from 156. Peak rates are those
// of NVIDIA's data sheet.
const (
	cyclesPerMicrosecond = 1800

	launchCycles   = 2500. // the part of a launch that the previous kernel does not hide
	sharpness      = 2.8   // sharpness of the transition between the two bounds
	bytesPerCycle  = 2170. // the whole device: 3.9 TB/s
	fewCTAs        = 0.27  // exponent of the bandwidth that CTAs on a part of the multiprocessors reach
	peakReach      = 0.73  // fraction of the peak rate that wgmma reaches in its best tiles
	narrowReach    = 0.94  // fraction of peakReach that instructions 192 wide reach
	sharedRate     = 93.   // bytes a cycle that wgmma reads from shared memory
	l2Rate         = 63.   // bytes a cycle from L2
	narrowL2Rate   = 45.   // for instructions at most 32 wide and a row-major B
	narrowColRate  = 56.   // likewise, for a column-major B
	pairL2Rate     = 52.   // if two CTAs of a multiprocessor read the same lines of a row-major B
	zeroFill       = 3.    // relative cost of rows outside the matrix, which TMA fills with zeros
	sharedEnd      = 0.97  // factor of the memory time if two CTAs share a multiprocessor and one computes while the other stores
	epilogueCycles = 370.
	elementCycles  = 26.   // cycles an element in a thread's epilogue
	shortFunction  = 12.   // activations a cycle of a multiprocessor: two special functions each
	longFunction   = 6.    // likewise, for error functions and for results rounded once to float32
	startCycles    = 2600. // start of the next CTA, for kernels that are not persistent
	orderCycles    = 900.  // delay of pingpong's second tile, until both warpgroups alternate
	largeEpilogue  = 1500. // if each warpgroup stores its own part
	largeTurn      = 800.  // likewise, between two tiles
	sharedFunction = 0.5   // fraction of an activation's time that the other warpgroup of pingpong loses
	directCycles   = 3000. // the store of the last tile's rows without TMA
	longCycles     = 1.5e5
	heat           = 0.3
	heatFree       = 0.625 // shared-memory time over product time without an effect on the clock: that of a tile of 128 x 256

	// For kernels that read the left operand from registers.
	registerReach = 0.83 // fraction of the peak
	registerStep  = 17.  // cycles a unit of k: one wait every 8
	pingpongStep  = 13.
	narrowStep    = 15. // for instructions at most 32 wide
)

// The fraction of the peak that scaled (1) and split (2) kernels reach, by tile, measured
// on the H200 at 1024 to 8192 cubed. Both store float32. Split kernels read each plane
// once for three products and add the sums in registers.
var planesReach = map[[3]int]float64{
	{1, 128, 256}: 0.69, {1, 128, 192}: 0.63, {1, 128, 128}: 0.57, {1, 64, 128}: 0.31,
	{2, 128, 256}: 0.76, {2, 128, 128}: 0.67, {2, 64, 128}: 0.475,
}

// Constants of kernels without wgmma.
const (
	plainReach = 0.9  // fraction of the peak
	aloneRate  = 0.96 // fraction of the peak for a float64 tile that fills a multiprocessor, if there is one tile for each
	ringReach  = 0.92
	ringEnd    = 1500. // from a tile's last step to the next one's first
	ringLong   = 2e6   // a kernel of more cycles lowers the clock, fully from twice as many on
	ringHeat   = 0.07  // relative cost of the lower clock, beyond that of larger tiles
	groupReach = 0.88  // fraction of the peak of a ring whose groups of warps compute alternate steps
	groupEnd   = 4000. // the groups add their sums
	clusterEnd = 7000. // two CTAs add their sums
	splitReach = 0.77  // fraction of the peak of a ring that splits its tiles in shared memory
	splitEnd   = 5300.
	longReach  = 0.5   // fraction of the peak rate of multiplications that a kernel for a long k reaches
	longStart  = 1000. // its first loads
	longSum    = 40.   // the sum of its threads, for each element of a tile
	skinnyRate = 0.86
	skinnyPart = 1.15 // factor of the bytes of a TF32 kernel whose last column of tiles is partial: up to 1.4 was measured
	skinnyLead = 700. // its tile of 16 rows starts this many cycles before a kernel that needs descriptors for TMA
)

var flopsPerCycle = map[string]float64{
	"bf16": 4096, "fp16": 4096, "fp16x3": 4096. / 3, "tf32": 2048, "tf32x3": 2048. / 3, "fp64": 256, "fp32": 256, "c64": 256, "c128": 256, "int": 64,
}

// defaultSMs is assumed for capabilities without a number of multiprocessors.
const defaultSMs = 132

// multiProcessors returns the number of multiprocessors, or a likely number if it is not
// known.
func multiProcessors(c device.Capabilities) int {
	if c.MultiProcessors == 0 {
		return defaultSMs
	}
	return c.MultiProcessors
}

// kernelCycles returns the predicted time of a kernel for a problem, in cycles.
func kernelCycles(p Problem, k cutlass.Kernel, c device.Capabilities) float64 {
	sms := multiProcessors(c)
	size, out := float64(p.A.Size()), float64(p.Out.Size())
	m, n, depth, batch := float64(p.M), float64(p.N), float64(p.K), float64(p.Batch)
	tm, tn := max(k.Tile[0], 1), max(k.Tile[1], 1)
	down, across := ceilDiv(p.M, tm), ceilDiv(p.N, tn)
	bytes := (size*depth*(m+n) + out*m*n) * batch
	var compute float64
	switch k.Schedule {
	case "cooperative", "pingpong", "single", "streamk":
		down, across = alignUp(down, k.Cluster[0]), alignUp(across, k.Cluster[1])
		cycles := wgmmaCycles
		if k.Large {
			cycles = largeCycles
		}
		compute = cycles(p, k, down*across*p.Batch, sms)
	case "ring":
		compute = ringCycles(p, k, down*across*p.Batch, sms)
	case "skinny": // reads B once for each row of tiles
		bytes = (size*depth*n*float64(down) + out*m*n) * batch / skinnyRate
		if tm > 16 {
			bytes /= skinnyRate
		}
		if k.Math == "tf32" && down > 1 && p.N%tn != 0 {
			bytes *= skinnyPart
		}
	case "long": // its CTAs read A once for each column of tiles, and B for each row
		bytes = (size*depth*(m*float64(across)+n*float64(down)) + out*m*n) * batch
		compute = longTileCycles(p, k) * float64(ceilDiv(down*across*p.Batch, sms))
	default:
		compute = plainCycles(p, k, down*across*p.Batch, sms)
	}
	if down == 1 && k.Schedule != "long" {
		bytes *= oneRowOfTiles(p, k, tm, tn)
	}
	memory := memoryCycles(k, bytes, math.Min(1, float64(down)*float64(across)*batch/float64(sms)))
	launch := launchCycles
	if k.Schedule == "skinny" && tm <= 16 && c.SM == 90 {
		launch += startCycles*float64(max(ceilDiv(down*across*p.Batch, sms), 1)-1) - skinnyLead
	}
	return launch + math.Pow(math.Pow(compute, sharpness)+math.Pow(memory, sharpness), 1/sharpness)
}

// memoryCycles returns the cycles in which a kernel reads and writes bytes. busy is the part of the multiprocessors that have
// a CTA.
func memoryCycles(k cutlass.Kernel, bytes, busy float64) float64 {
	memory := bytes / bytesPerCycle
	switch {
	case k.Schedule == "skinny":
		memory /= busy
	case busy > 0:
		memory /= math.Pow(busy, fewCTAs)
	}
	return memory
}

// longTileCycles returns the cycles of a tile of a kernel for a long k: its multiplications, and the sum of its threads.
func longTileCycles(p Problem, k cutlass.Kernel) float64 {
	rate, count := float64(128), float64(k.Tile[0]*k.Tile[1]) // multiplications a cycle
	switch {
	case p.A == dtype.Float64:
		rate = 64
	case p.A == dtype.Complex64:
		rate = 32
	case p.A == dtype.Complex128:
		rate = 16
	}
	return longStart + longSum*count + float64(p.K)*count/(longReach*rate)
}

// oneRowOfTiles returns the factor on a kernel's traffic if D has one row of tiles. TMA
// fills the rows of a tile that D lacks with zeros, and CTAs that share a multiprocessor
// overlap.
func oneRowOfTiles(p Problem, k cutlass.Kernel, tm, tn int) float64 {
	factor := 1.
	if p.M < tm && k.Schedule != "skinny" && (k.Schedule != "ring" || k.Math != "fp64") {
		part := float64(tm) / float64(tm+tn)
		factor = 1 + zeroFill*part*part*(1-float64(p.M)/float64(tm))
	}
	if k.CTAs > 1 {
		factor *= sharedEnd
	}
	return factor
}

// wgmmaCycles returns the compute term of kernels for Hopper's tensor cores.
func wgmmaCycles(p Problem, k cutlass.Kernel, tiles, sms int) float64 {
	tm, tn, tk := float64(k.Tile[0]), float64(k.Tile[1]), float64(k.Tile[2])
	size := float64(p.A.Size())
	left, right := tm, tn // of the instruction
	if k.Swapped {
		left, right = tn, tm
	}
	rate := l2Rate
	switch {
	case right <= 32 && k.MajorB == cutlass.ColMajor:
		rate = narrowColRate
	case right <= 32:
		rate = narrowL2Rate
	case k.CTAs > 1 && p.M > k.Tile[0] && k.MajorB == cutlass.RowMajor:
		rate = pairL2Rate
	}
	fromL2 := (tm/float64(k.Cluster[1]) + tn/float64(k.Cluster[0])) * tk * size / rate
	ideal := 2 * tm * tn * tk / flopsPerCycle[k.Math]
	shared := (left + left/64*right) * tk * size / 128
	registers := k.Math == "tf32" && k.Swapped
	var step float64
	if registers {
		step = max(ideal/registerReach, tk*registerWait(k, right), fromL2)
	} else {
		step = sharedStep(k, ideal, shared, right, fromL2)
	}
	compute := scheduleCycles(p, k, tiles, sms, float64(ceilDiv(p.K, k.Tile[2]))*step)
	if k.Direct {
		compute += directCycles
	}
	if !registers {
		long := math.Min(1, math.Max(0, compute/longCycles-1))
		compute *= 1 + heat*long*math.Max(0, shared/ideal-heatFree)
	}
	return compute
}

// registerWait returns the cycles per element of k that a kernel waits if its left operand
// comes through registers. right is the width of its instruction.
func registerWait(k cutlass.Kernel, right float64) float64 {
	switch {
	case right <= 32:
		return narrowStep
	case k.Schedule == "pingpong":
		return pingpongStep
	}
	return registerStep
}

// sharedStep returns the cycles of a step along k for a kernel that reads both operands
// from shared memory. The products take `ideal` cycles at the peak rate, the reads from
// shared memory `shared`, and the loads from L2 `fromL2`.
func sharedStep(k cutlass.Kernel, ideal, shared, right, fromL2 float64) float64 {
	if reach, ok := planesReach[[3]int{int(formOf(k)), k.Tile[0], k.Tile[1]}]; ok {
		return max(ideal/reach, fromL2)
	}
	products := ideal / peakReach
	if right == 192 {
		products /= narrowReach
	}
	return max(products, shared*128/sharedRate, fromL2)
}

// scheduleCycles returns the cycles of all tiles of a kernel for Hopper's tensor cores.
// Each tile takes `work` cycles for its products.
func scheduleCycles(p Problem, k cutlass.Kernel, tiles, sms int, work float64) float64 {
	elements := float64(k.Tile[0]) * float64(k.Tile[1])
	threads := 128.
	if k.Schedule == "cooperative" || k.Schedule == "streamk" {
		threads = 256
	}
	epilogue := epilogueCycles + elementCycles*elements/threads + activationCycles(p, k)*elements
	share := float64(ceilDiv(tiles, sms))
	switch k.Schedule {
	case "cooperative":
		return share * (work + epilogue)
	case "streamk":
		return distribute(tiles, ceilDiv(p.K, k.Tile[2]), sms, k.Cluster[0]*k.Cluster[1]).cycles(work, epilogue)
	case "pingpong":
		cycles := max(share*work+epilogue, math.Ceil(share/2)*(work+epilogue))
		if share > 1 {
			cycles += orderCycles + share*sharedFunction*activationCycles(p, k)*elements
		}
		return cycles
	}
	if k.CTAs > 1 && tiles <= sms {
		share = 2 // two CTAs may share a multiprocessor while others are free
	}
	waves := float64(ceilDiv(tiles, sms*max(k.CTAs, 1)))
	return share*work + waves*(epilogue+startCycles) - startCycles
}

// largeCycles returns the compute term of the kernels for large products of halves.
func largeCycles(p Problem, k cutlass.Kernel, tiles, sms int) float64 {
	tm, tn := float64(k.Tile[0]), float64(k.Tile[1])
	work := float64(ceilDiv(p.K, k.Tile[2]))*2*tm*tn*float64(k.Tile[2])/(flopsPerCycle[k.Math]*peakReach)*largeHeat(k) + largeTurn
	activation := activationCycles(p, k) * tm * tn
	epilogue := largeEpilogue + activation
	share := float64(ceilDiv(tiles, sms))
	if k.Schedule == "pingpong" {
		return max(share*work+epilogue, math.Ceil(share/2)*(work+epilogue))
	}
	return share*(work+activation) + largeEpilogue
}

// largeHeat returns the time of a kernel with narrower instructions relative to that of a
// kernel of 256 rows, once the clock has settled. Narrower instructions read more bytes
// from shared memory for each operation, and power limits large products.
func largeHeat(k cutlass.Kernel) float64 {
	switch {
	case k.Tile[0] >= 192:
		return 1
	case k.Tile[0] >= 160:
		return 1.025
	}
	return 1.055
}

// activationCycles returns a multiprocessor's time for the activation of one result.
func activationCycles(p Problem, k cutlass.Kernel) float64 {
	switch {
	case p.Epilogue.Activation <= ReLU:
		return 0
	case k.Split || p.Epilogue.Activation == GELU:
		return 1 / longFunction
	}
	return 1 / shortFunction
}

// ringCycles returns the compute term of kernels for Hopper without CUTLASS. A cluster
// computes a tile, and each of its CTAs a part of k.
func ringCycles(p Problem, k cutlass.Kernel, tiles, sms int) float64 {
	share := float64(ceilDiv(tiles, max(1, sms/k.Parts)))
	steps := float64(ceilDiv(ceilDiv(p.K, k.Tile[2]), k.Parts))
	reach, end := ringReach, ringEnd
	switch {
	case k.Math == "tf32x3":
		reach, end = splitReach, splitEnd
	case k.Parts > 1:
		reach, end = groupReach, clusterEnd
	case k.Tile[0]*k.Tile[1] <= 64*64:
		reach, end = groupReach, groupEnd
	}
	step := 2 * float64(k.Tile[0]*k.Tile[1]*k.Tile[2]) / (flopsPerCycle[k.Math] * reach)
	compute := share * (steps*step + end)
	if k.Math == "fp64" {
		compute *= 1 + ringHeat*math.Min(1, math.Max(0, compute/ringLong-1))
	}
	return compute
}

// plainCycles returns the compute term of the other kernels.
func plainCycles(p Problem, k cutlass.Kernel, tiles, sms int) float64 {
	flops := 2.0
	if p.A.IsComplex() {
		flops = 8
	}
	rate := plainReach * tileRate(k)
	if k.Math == "fp64" && k.Tile[2] > 16 && tiles <= sms {
		rate = plainReach * aloneRate
	}
	return float64(ceilDiv(tiles, sms)) * flops * float64(k.Tile[0]) * float64(k.Tile[1]) * float64(p.K) / (flopsPerCycle[k.Math] * rate)
}

// tileRate returns the fraction of the rate that a tile reaches. Operands come through
// shared memory, and the products of a small tile wait for them.
func tileRate(k cutlass.Kernel) float64 {
	area := k.Tile[0] * k.Tile[1]
	switch {
	case k.Math == "fp64" && k.Tile[2] > 16:
		return 0.89
	case k.Math == "fp64" && area <= 64*128:
		return 0.93
	case area <= 64*64:
		return 0.6
	case area <= 64*128:
		return 0.85
	}
	return 0.98
}

func ceilDiv(n, unit int) int { return (n + unit - 1) / unit }
