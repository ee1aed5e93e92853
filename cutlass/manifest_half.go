package cutlass

import "github.com/gpk-go/gpk/dtype"

// wgmma is a tile for Hopper's tensor cores with its schedule.
type wgmma struct {
	tile, cluster [3]int // the cluster's k is not used
	schedule      string
	ctas          int
	swapped       bool
}

func (w wgmma) kernel(unit string, in dtype.DType, math string) Kernel {
	return Kernel{
		Unit: unit, SM: 90, A: in, B: in,
		Tile: w.tile, Cluster: [2]int{w.cluster[0], w.cluster[1]}, Schedule: w.schedule, CTAs: w.ctas, Swapped: w.swapped, Math: math,
		AlignA: 16, AlignB: 16, AlignOut: 16, Epilogue: true, TensorCore: true,
	}
}

// halfFamilies are the kernels of 16-bit operands on Hopper.
func halfFamilies() []family {
	var fs []family
	// The large tile has the operand reuse that the tensor cores need at large sizes;
	// pingpong overlaps the epilogue with the other warpgroup's products.
	for _, h := range halves {
		wide := wgmma{tile: [3]int{128, 256, 64}, cluster: [3]int{2, 1}, schedule: "cooperative"}
		tall := wgmma{tile: [3]int{256, 128, 64}, cluster: [3]int{1, 1}, schedule: "cooperative"}
		even := wgmma{tile: [3]int{128, 128, 64}, cluster: [3]int{2, 1}, schedule: "pingpong"}
		prefix := "sm90_" + tokens[h].name + "_"
		unit := prefix + dims(wide.tile[:])
		fs = append(fs, family{90, wide.kernel(unit, h, h.Short()), []dtype.DType{dtype.Float32}, allMajors},
			largeFamily(unit, h, h.Short(), tall, allMajors))
		unit = prefix + dims(even.tile[:])
		fs = append(fs, family{90, even.kernel(unit, h, h.Short()), []dtype.DType{h, dtype.Float32}, allMajors})
	}
	// The tiles above need slightly more than whole waves for some sizes, such as 3072, 4000
	// and 8192. These tiles fit them: 4000 rows are 25 tiles of 160, in four waves. A is
	// row-major, the only layout that tiles of 160 rows support.
	for _, w := range []wgmma{
		{tile: [3]int{192, 128, 64}, cluster: [3]int{1, 2}, schedule: "pingpong"},
		{tile: [3]int{160, 192, 64}, cluster: [3]int{1, 1}, schedule: "cooperative"},
	} {
		for _, h := range halves {
			fs = append(fs, largeFamily("sm90_half_large", h, h.Short(), w, allMajors[:2]))
		}
	}
	for _, w := range []wgmma{
		// One wave of small tiles (1024), and slightly more than one (512 rows of a linear
		// layer), with two tiles per multiprocessor.
		{tile: [3]int{64, 128, 128}, cluster: [3]int{1, 1}, schedule: "single", ctas: 1},
		{tile: [3]int{64, 96, 64}, cluster: [3]int{1, 1}, schedule: "single", ctas: 2},
		// Small members of a batch.
		{tile: [3]int{64, 64, 64}, cluster: [3]int{1, 1}, schedule: "pingpong"},
		// Few rows: limited by reading B; as many loads in flight as fit.
		{tile: [3]int{16, 128, 128}, cluster: [3]int{1, 1}, schedule: "cooperative", swapped: true},
		{tile: [3]int{32, 128, 64}, cluster: [3]int{1, 1}, schedule: "cooperative", swapped: true},
		{tile: [3]int{64, 64, 128}, cluster: [3]int{1, 1}, schedule: "single", ctas: 2},
		{tile: [3]int{128, 128, 64}, cluster: [3]int{1, 1}, schedule: "cooperative", swapped: true},
	} {
		unit := "sm90_half_" + dims(w.tile[:])
		for _, h := range halves {
			fs = append(fs, family{90, w.kernel(unit, h, h.Short()), []dtype.DType{h}, allMajors})
		}
	}
	// Results that TMA cannot store. Their operands are aligned copies, or the weight of a
	// linear layer, so that two pairs of majors are enough. They share a unit with TF32
	// kernels, because both families are small.
	direct := wgmma{tile: [3]int{128, 128, 64}, cluster: [3]int{2, 1}, schedule: "pingpong"}
	for _, h := range halves {
		k := direct.kernel("sm90_tf32", h, h.Short())
		k.Direct, k.AlignOut = true, h.Size()
		fs = append(fs, family{90, k, []dtype.DType{h}, allMajors[:2]})
	}
	return fs
}

// streamKFamilies are for slightly more than one wave of tiles and a long k: no
// multiprocessor idles. A weight may have either major; x has the one in which it was made.
func streamKFamilies(unit string) []family {
	var fs []family
	w := wgmma{tile: [3]int{128, 128, 64}, cluster: [3]int{2, 1}, schedule: "streamk"}
	for _, h := range halves {
		fs = append(fs, family{90, w.kernel(unit, h, h.Short()), []dtype.DType{h}, allMajors[:2]})
	}
	return fs
}

// tf32Families are the kernels for float32 with TF32's precision on Hopper.
func tf32Families() []family {
	var fs []family
	add := func(unit string, majors [][2]Major, ws ...wgmma) {
		for _, w := range ws {
			fs = append(fs, family{90, w.kernel(unit, dtype.Float32, "tf32"), []dtype.DType{dtype.Float32}, majors})
		}
	}
	// wgmma can read TF32 from shared memory only if k is contiguous.
	add(
		"sm90_tf32", kMajors,
		wgmma{tile: [3]int{128, 256, 32}, cluster: [3]int{2, 1}, schedule: "cooperative"},
		wgmma{tile: [3]int{128, 128, 32}, cluster: [3]int{2, 1}, schedule: "pingpong"},
		wgmma{tile: [3]int{64, 128, 32}, cluster: [3]int{1, 1}, schedule: "pingpong"},
	)
	// Row-major B is loaded into registers, as the left operand of the transposed product,
	// so that no transpose is needed. This pays off for small products. The last two are
	// limited by reading B.
	add(
		"sm90_tf32_swapped", rowMajors,
		wgmma{tile: [3]int{64, 64, 32}, cluster: [3]int{1, 1}, schedule: "pingpong", swapped: true},
		wgmma{tile: [3]int{128, 64, 32}, cluster: [3]int{1, 1}, schedule: "pingpong", swapped: true},
		wgmma{tile: [3]int{256, 128, 32}, cluster: [3]int{1, 2}, schedule: "cooperative", swapped: true},
		wgmma{tile: [3]int{64, 128, 32}, cluster: [3]int{1, 1}, schedule: "cooperative", swapped: true},
		wgmma{tile: [3]int{128, 128, 32}, cluster: [3]int{1, 1}, schedule: "cooperative", swapped: true},
		wgmma{tile: [3]int{16, 128, 32}, cluster: [3]int{1, 1}, schedule: "cooperative", swapped: true},
		wgmma{tile: [3]int{32, 128, 32}, cluster: [3]int{1, 1}, schedule: "cooperative", swapped: true},
	)
	return fs
}

// skinnyFamilies are the kernels of src/gemm_skinny.cuh: few rows in TF32's
// precision, B row-major.
func skinnyFamilies() []family {
	var fs []family
	for _, rows := range []int{16, 32} {
		fs = append(fs, family{0, Kernel{
			Unit: "gemm_plain", SM: 80, A: dtype.Float32, B: dtype.Float32,
			Tile: [3]int{rows, 64, 16}, Cluster: [2]int{1, 1}, Stages: 1, Schedule: "skinny", Math: "tf32",
			AlignA: 16, AlignB: 16, AlignOut: 4, Epilogue: true, TensorCore: true,
		}, []dtype.DType{dtype.Float32}, rowMajors})
	}
	return fs
}

// longFamilies are the kernels of src/gemm_long.cu: few results of a long k.
func longFamilies() []family {
	var fs []family
	for _, f := range []struct {
		in, out dtype.DType
		math    string
		side    int // side of the larger tile
	}{
		{dtype.Float32, dtype.Float32, "fp32", 8},
		{dtype.Float32, dtype.Float32, "tf32", 8},
		{dtype.Float64, dtype.Float64, "fp64", 8},
		{dtype.Float16, dtype.Float32, "fp16", 8},
		{dtype.BFloat16, dtype.Float32, "bf16", 8},
		{dtype.Complex64, dtype.Complex64, "c64", 4},
		{dtype.Complex64, dtype.Complex64, "tf32", 4},
		{dtype.Complex128, dtype.Complex128, "c128", 4},
	} {
		for _, side := range []int{1, f.side} {
			fs = append(fs, family{0, Kernel{
				Unit: "gemm_long", SM: 80, A: f.in, B: f.in,
				Tile: [3]int{side, side, 256}, Cluster: [2]int{1, 1}, Stages: 1, Schedule: "long", Math: f.math,
				AlignA: f.in.Size(), AlignB: f.in.Size(), AlignOut: f.out.Size(),
			}, []dtype.DType{f.out}, allMajors})
		}
	}
	return fs
}
