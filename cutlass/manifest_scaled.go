package cutlass

import "github.com/gpk-go/gpk/dtype"

// scaledFamilies are the kernels for operands made by Library.Prepare: planes of float16,
// for which wgmma has TF32's significand at twice its rate and supports both majors. One
// plane gives TF32's precision; two give float32's, at a third of the rate.
func scaledFamilies() []family {
	var fs []family
	hopper := func(unit string, planes int, square bool, tile [3]int, cluster [2]int, schedule string, majors [][2]Major) {
		math := "fp16"
		if planes == 2 {
			math = "fp16x3"
		}
		fs = append(fs, family{90, Kernel{
			Unit: unit, SM: 90, A: dtype.Float16, B: dtype.Float16,
			Tile: tile, Cluster: cluster, Schedule: schedule, Math: math,
			AlignA: 16, AlignB: 16, AlignOut: 16, Epilogue: !square, TensorCore: true,
			Scaled: planes == 1, Split: planes == 2, AbsSquare: square,
		}, []dtype.DType{dtype.Float32}, majors})
	}
	large, narrow, middle, small := [3]int{128, 256, 64}, [3]int{128, 192, 64}, [3]int{128, 128, 64}, [3]int{64, 128, 64}

	// The tiles of ordinary float16 products, for the same reasons.
	hopper("sm90_scaled", 1, false, large, [2]int{2, 1}, "cooperative", allMajors)
	hopper("sm90_scaled", 1, false, middle, [2]int{2, 1}, "pingpong", allMajors)
	hopper("sm90_scaled_small", 1, false, narrow, [2]int{2, 1}, "cooperative", allMajors)
	hopper("sm90_scaled_small", 1, false, small, [2]int{1, 1}, "pingpong", allMajors)
	// One row of tiles: a packed operand with few columns of tiles.
	hopper("sm90_scaled_few", 1, false, middle, [2]int{1, 1}, "cooperative", allMajors)
	fs = append(fs, streamKFamilies("sm90_scaled_few")...) // there are few of either kind

	// The large tile moves the least data, the middle one wastes less if there are few
	// tiles: see mainloop_split_sm90.cuh.
	hopper("sm90_split", 2, false, large, [2]int{2, 1}, "cooperative", allMajors)
	hopper("sm90_split", 2, false, middle, [2]int{2, 1}, "cooperative", allMajors)
	hopper("sm90_split_small", 2, false, small, [2]int{1, 1}, "pingpong", allMajors)
	// They are in the same unit as kernels for float64, because there are few of either.
	fs = append(fs, family{90, Kernel{
		Unit: "sm90_split_small", SM: 90, A: dtype.Float64, B: dtype.Float64,
		Tile: [3]int{128, 64, 16}, Warp: [2]int{64, 32}, Cluster: [2]int{1, 1}, Stages: 4, Schedule: "multistage", Math: "fp64",
		AlignA: 8, AlignB: 8, AlignOut: 8, TensorCore: true,
	}, []dtype.DType{dtype.Float64}, allMajors})

	// Gram matrices: states are rows, so k is contiguous in both operands.
	for planes, middleSchedule := range []string{"pingpong", "cooperative"} {
		hopper("sm90_square", planes+1, true, large, [2]int{2, 1}, "cooperative", kMajors)
		hopper("sm90_square", planes+1, true, middle, [2]int{2, 1}, middleSchedule, kMajors)
		hopper("sm90_square", planes+1, true, small, [2]int{1, 1}, "pingpong", kMajors)
	}
	return fs
}

// fewFamilies returns the kernel of src/gemm_few.cuh: few unprepared rows times the plane
// of a packed operand.
func fewFamilies() []family {
	return []family{{0, Kernel{
		Unit: "gemm_plain", SM: 90, A: dtype.Float16, B: dtype.Float16,
		Tile: [3]int{16, 64, 32}, Cluster: [2]int{1, 1}, Stages: 1, Schedule: "few", Math: "fp16",
		AlignA: 16, AlignB: 16, AlignOut: 4, Epilogue: true, TensorCore: true, Scaled: true,
	}, []dtype.DType{dtype.Float32}, kMajors}}
}
