package matmul

import (
	"math"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
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
// where pingpong hides all epilogues but the last, a kernel of one tile a CTA
// starts anew for each, and a product of more than a tenth of a millisecond pays in
// clock rate for what it reads from shared memory: fully from 170 us, once the clock
// has settled on products of its kind.
//
// The numbers were fitted to 317 timings of the manifest's wgmma tiles on an
// H200, of bfloat16 and TF32 products from 512 to 8192 cubed, of 1 to 128 rows,
// and of batches, each launched before the previous one had ended. They predict
// a time to 11 % (root mean square), and the tile of least cycles was at most
// 2.4 % slower than the fastest that was measured. The numbers of TF32 through
// registers were read from 40 later timings, those of large products of halves from
// 60, and of float64 in rings from 90. Peak rates are those of NVIDIA's data sheet.
const (
	cyclesPerMicrosecond = 1800

	launchCycles   = 2500. // what the previous kernel does not hide
	sharpness      = 2.8   // of the change between the two bounds
	bytesPerCycle  = 2170. // the whole device: 3.9 TB/s
	fewCTAs        = 0.27  // exponent of what CTAs on a part of the multiprocessors lose of it
	peakReach      = 0.73  // of the peak, by wgmma in its best tiles
	narrowReach    = 0.94  // of that, where the instruction is 192 wide
	sharedRate     = 93.   // bytes of a cycle that wgmma reads
	l2Rate         = 63.   // bytes of a cycle that come from L2
	narrowL2Rate   = 45.   // where the instruction is at most 32 wide
	pairL2Rate     = 52.   // where two CTAs of a multiprocessor ask for the same lines of B
	zeroFill       = 3.    // what TMA takes for rows that are not there
	sharedEnd      = 0.97  // of the bytes' time, where one CTA's end is another's middle
	epilogueCycles = 370.
	elementCycles  = 26.   // of an epilogue's thread
	shortFunction  = 12.   // results that a multiprocessor activates in a cycle: two special functions each
	longFunction   = 6.    // likewise, where they are rounded once to float32 or are error functions
	startCycles    = 2600. // of the next CTA where CTAs do not persist
	orderCycles    = 900.  // of pingpong's second tile, until both warpgroups have their turn
	largeEpilogue  = 1500. // where warpgroups store apart
	largeTurn      = 800.  // from a tile to the next there
	sharedFunction = 0.5   // of an activation's time, what the other warpgroup of pingpong loses
	directCycles   = 3000. // of the last tile's rows, where they are not TMA's to store
	longCycles     = 1.5e5
	heat           = 0.3
	heatFree       = 0.625 // bytes from shared memory a product, over what the peak allows: 128 x 256

	// Where the left operand goes through registers.
	registerReach = 0.83 // of the peak
	registerStep  = 17.  // cycles a unit of k: one wait each 8
	pingpongStep  = 13.
	narrowStep    = 15. // where the instruction is at most 32 wide
)

// What scaled (1) and split (2) kernels keep of the peak, by tile, measured on
// the same machine at 1024 to 8192 cubed: they store float32, and split ones
// read each plane once for three products and add their sums up in registers.
var planesReach = map[[3]int]float64{
	{1, 128, 256}: 0.69, {1, 128, 192}: 0.63, {1, 128, 128}: 0.57, {1, 64, 128}: 0.31,
	{2, 128, 256}: 0.76, {2, 128, 128}: 0.67, {2, 64, 128}: 0.475,
}

// Of kernels without wgmma.
const (
	plainReach = 0.9  // of the peak
	aloneRate  = 0.96 // by a tile of float64 that fills a multiprocessor, where there is one for each
	ringReach  = 0.92
	ringEnd    = 1500. // from a tile's last step to the next one's first
	ringLong   = 2e6   // from here on the clock falls, fully at twice as many cycles
	ringHeat   = 0.07  // what that costs more than larger tiles do
	groupReach = 0.88  // of a ring whose groups of warps take steps in turn
	groupEnd   = 4000. // where they add up their sums
	clusterEnd = 7000. // where two CTAs do
	splitReach = 0.77  // of a ring whose tiles are split on the way
	splitEnd   = 5300.
	skinnyRate = 0.86
)

var flopsPerCycle = map[string]float64{
	"bf16": 4096, "fp16": 4096, "fp16x3": 4096. / 3, "tf32": 2048, "tf32x3": 2048. / 3, "fp64": 256, "fp32": 256, "c64": 256, "c128": 256, "int": 64,
}

// defaultSMs stands for a device whose multiprocessors are not counted.
const defaultSMs = 132

func kernelCycles(p Problem, k cutlass.Kernel, c device.Capabilities) float64 {
	sms := c.MultiProcessors
	if sms == 0 {
		sms = defaultSMs
	}
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
	default:
		compute = plainCycles(p, k, down*across*p.Batch, sms)
	}
	if down == 1 && p.M < tm && k.Schedule != "skinny" && (k.Schedule != "ring" || k.Math != "fp64") {
		part := float64(tm) / float64(tm+tn)
		bytes *= 1 + zeroFill*part*part*(1-m/float64(tm))
	}
	if down == 1 && k.CTAs > 1 {
		bytes *= sharedEnd
	}
	busy := math.Min(1, float64(down)*float64(across)*batch/float64(sms))
	memory := bytes / bytesPerCycle
	switch {
	case k.Schedule == "skinny":
		memory /= busy
	case busy > 0:
		memory /= math.Pow(busy, fewCTAs)
	}
	return launchCycles + math.Pow(math.Pow(compute, sharpness)+math.Pow(memory, sharpness), 1/sharpness)
}

// wgmmaCycles is the compute term of kernels for Hopper's tensor cores.
func wgmmaCycles(p Problem, k cutlass.Kernel, tiles, sms int) float64 {
	tm, tn, tk := float64(k.Tile[0]), float64(k.Tile[1]), float64(k.Tile[2])
	size := float64(p.A.Size())
	left, right := tm, tn // of the instruction
	if k.Swapped {
		left, right = tn, tm
	}
	rate := l2Rate
	switch {
	case right <= 32:
		rate = narrowL2Rate
	case k.CTAs > 1 && p.M > k.Tile[0]:
		rate = pairL2Rate
	}
	fromL2 := (tm/float64(k.Cluster[1]) + tn/float64(k.Cluster[0])) * tk * size / rate
	ideal := 2 * tm * tn * tk / flopsPerCycle[k.Math]
	shared := (left + left/64*right) * tk * size / 128
	var step float64
	registers := k.Math == "tf32" && k.Swapped
	if registers {
		wait := registerStep
		switch {
		case right <= 32:
			wait = narrowStep
		case k.Schedule == "pingpong":
			wait = pingpongStep
		}
		step = max(ideal/registerReach, tk*wait, fromL2)
	} else {
		products := ideal / peakReach
		if right == 192 {
			products /= narrowReach
		}
		step = max(products, shared*128/sharedRate, fromL2)
		if reach, ok := planesReach[[3]int{int(formOf(k)), k.Tile[0], k.Tile[1]}]; ok {
			step = max(ideal/reach, fromL2)
		}
	}
	work := float64(ceilDiv(p.K, k.Tile[2])) * step
	threads := 128.
	if k.Schedule == "cooperative" || k.Schedule == "streamk" {
		threads = 256
	}
	epilogue := epilogueCycles + elementCycles*tm*tn/threads + activationCycles(p, k)*tm*tn
	share := float64(ceilDiv(tiles, sms))
	var compute float64
	switch k.Schedule {
	case "cooperative":
		compute = share * (work + epilogue)
	case "streamk":
		compute = dealt(tiles, ceilDiv(p.K, k.Tile[2]), sms, k.Cluster[0]*k.Cluster[1]).cycles(work, epilogue)
	case "pingpong":
		compute = max(share*work+epilogue, math.Ceil(share/2)*(work+epilogue))
		if share > 1 {
			compute += orderCycles + share*sharedFunction*activationCycles(p, k)*tm*tn
		}
	default:
		if k.CTAs > 1 && tiles <= sms {
			share = 2 // nothing keeps two CTAs from meeting while other multiprocessors are free
		}
		waves := float64(ceilDiv(tiles, sms*max(k.CTAs, 1)))
		compute = share*work + waves*(epilogue+startCycles) - startCycles
	}
	if k.Direct {
		compute += directCycles
	}
	if !registers {
		long := math.Min(1, math.Max(0, compute/longCycles-1))
		compute *= 1 + heat*long*math.Max(0, shared/ideal-heatFree)
	}
	return compute
}

// largeCycles is the compute term of the kernels for large products of halves.
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

// largeHeat is how much slower than a kernel of 256 rows one is whose instructions are
// narrower, once the clock has settled: they read more of shared memory for a
// flop, and it is the power that bounds large products.
func largeHeat(k cutlass.Kernel) float64 {
	switch {
	case k.Tile[0] >= 192:
		return 1
	case k.Tile[0] >= 160:
		return 1.025
	}
	return 1.055
}

// activationCycles is what an activation takes a multiprocessor for one result.
func activationCycles(p Problem, k cutlass.Kernel) float64 {
	switch {
	case p.Epilogue.Activation <= ReLU:
		return 0
	case k.Split || p.Epilogue.Activation == GELU:
		return 1 / longFunction
	}
	return 1 / shortFunction
}

// ringCycles is the compute term of kernels for Hopper without CUTLASS: clusters take
// tiles, and each of their CTAs a part of k.
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

// plainCycles is the compute term of the other kernels.
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

// tileRate is what a tile keeps of the rate: operands come through shared
// memory, so that a small tile's products wait for them.
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
