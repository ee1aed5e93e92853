package cutlass

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/dtype"
)

// Major is the storage order of an operand.
type Major uint8

// The two majors: RowMajor means that k is contiguous in A, or that n is contiguous in B.
const (
	RowMajor Major = iota
	ColMajor
)

// Kernel is one product kernel of the library, with all properties that the builder, the
// dispatcher and `gpk info` use.
//
// No kernel supports an empty problem: m, n, k and batch are at least 1, and for k = 0 the
// caller computes act(bias) itself. TF32 kernels round their operands to nearest (by TMA
// when they load, or mma.sync kernels in registers), so they read plain float32 data.
type Kernel struct {
	Name           string // unique; returned by gpk_gemm_name
	Unit           string // the translation unit that contains it
	SM             int    // the lowest supported architecture: 80, 90 (90 means 90a)
	A, B, Out      dtype.DType
	MajorA, MajorB Major
	Tile           [3]int // M, N, K of one CTA's step
	Warp           [2]int // M, N of one warp's part of the tile; zero if CUTLASS 3.x decides
	Cluster        [2]int // CTAs of one cluster along M and N; {1, 1} without clusters
	Parts          int    // schedule ring: the CTAs of a cluster that share a tile's k
	Stages         int    // 0: as many as fit
	Schedule       string // cooperative, pingpong, single (one tile per CTA), streamk, multistage, ring, simt, skinny, few, long, plain
	CTAs           int    // schedule single: CTAs per multiprocessor
	Direct         bool   // stores 16-bit results whose rows are not aligned to 16 bytes
	Large          bool   // from src/gemm_large_sm90.cuh, always swapped
	Swapped        bool   // computes the transposed product: the rows of D's tile are the instruction's n
	Math           string // bf16, fp16, fp16x3, tf32, tf32x3, fp32, fp64, c64, c128, int: the precision of the multiplications
	AlignA, AlignB int    // bytes that must divide base address, row pitch and batch stride
	AlignOut       int    // likewise for D; the store of a row may write padding up to the next multiple, but not beyond
	MultipleK      int    // k must be a multiple of this, by padding both operands with zeros if necessary; m and n are arbitrary
	Epilogue       bool   // supports bias and activation
	TensorCore     bool

	// Kernels for operands made by Library.Prepare, float16 planes and scales (see gpk_gemm
	// in src/gpk.h). They compute products of float32, and of complex64 as real products of
	// twice the k and n.
	Scaled    bool // one plane per operand
	Split     bool // two planes per operand: the product has float32's precision
	AbsSquare bool // D is the squared modulus of each element of the complex product

	ConjA, ConjB bool // the kernel multiplies the conjugate of A, of B
}

// Unit is one translation unit: a tile and schedule with its layouts, types and
// activations.
type Unit struct {
	Name    string
	SM      int // 80: one object for sm_80, 86 and 89 (with compute_80 PTX); 90: sm_90a; 0: every requested target
	Kernels []Kernel
	File    string // a .cu file in src that needs only the headers of src; otherwise empty, and Source generates the text

	Companion string // the companion to which the unit belongs; "": libgpk.so
	text      string // text of a companion's File
}

// family is a set of kernels of one unit that differ in majors and output type.
type family struct {
	unitSM int
	common Kernel
	outs   []dtype.DType
	majors [][2]Major
}

var (
	allMajors = [][2]Major{{RowMajor, RowMajor}, {RowMajor, ColMajor}, {ColMajor, RowMajor}, {ColMajor, ColMajor}}
	kMajors   = [][2]Major{{RowMajor, ColMajor}} // k contiguous in both operands, which wgmma requires for TF32
	rowMajors = [][2]Major{{RowMajor, RowMajor}}
)

// Kernels lists every product kernel once, in the order of the library built from all
// units. The caller owns the slice.
func Kernels() []Kernel {
	var ks []Kernel
	for _, f := range families() {
		for _, out := range f.outs {
			for _, m := range f.majors {
				k := f.common
				k.Out, k.MajorA, k.MajorB = out, m[0], m[1]
				k.complete(f.unitSM)
				ks = append(ks, k)
			}
		}
	}
	return ks
}

// families returns the manifest: the kernels that are compiled, and why.
func families() []family {
	var fs []family

	fs = append(fs, halfFamilies()...)
	fs = append(fs, tf32Families()...)
	fs = append(fs, scaledFamilies()...)

	// float64 with rows that TMA can copy, by src/gemm_f64_sm90.cuh. If there are few
	// tiles, two CTAs share a tile's k.
	for _, f := range []struct {
		unit  string
		tile  [3]int
		parts int
	}{
		{"sm90_f64_ring", [3]int{128, 64, 16}, 1},
		{"sm90_f64_ring", [3]int{64, 64, 16}, 1},
		{"sm90_f64_small", [3]int{64, 64, 16}, 2},
	} {
		fs = append(fs, family{90, Kernel{
			Unit: f.unit, SM: 90, A: dtype.Float64, B: dtype.Float64,
			Tile: f.tile, Warp: [2]int{32, 32}, Cluster: [2]int{1, 1}, Parts: f.parts, Stages: 8, Schedule: "ring", Math: "fp64",
			AlignA: 16, AlignB: 16, AlignOut: 8, TensorCore: true,
		}, []dtype.DType{dtype.Float64}, allMajors})
	}

	// CUTLASS 2.x. If an operand has k contiguous, a load is a vector of it; outputs are
	// stored one by one. Shared memory stays below the 99 KiB of sm_86.
	type classic struct {
		unit       string
		unitSM, sm int
		in, out    dtype.DType
		math       string
		tile       [3]int
		warp       [2]int
		stages     int
		schedule   string
		vector     int // bytes per load
		epilogue   bool
	}
	list := []classic{
		// float64 with other rows. For at most one wave of tiles, each multiprocessor
		// computes one tile. For more, several tiles share a multiprocessor, in kernels
		// with smaller steps (scaledFamilies).
		{"sm90_f64_small", 90, 90, dtype.Float64, dtype.Float64, "fp64", [3]int{128, 64, 32}, [2]int{32, 32}, 3, "multistage", 8, false},
		{"sm90_f64", 90, 90, dtype.Float64, dtype.Float64, "fp64", [3]int{128, 128, 16}, [2]int{32, 64}, 3, "multistage", 8, false},
		{"sm90_f64", 90, 90, dtype.Complex128, dtype.Complex128, "c128", [3]int{64, 64, 16}, [2]int{32, 32}, 3, "multistage", 16, false},
		{"any_f32", 0, 80, dtype.Float32, dtype.Float32, "fp32", [3]int{128, 128, 8}, [2]int{32, 64}, 5, "simt", 4, true},
		{"any_c64", 0, 80, dtype.Complex64, dtype.Complex64, "c64", [3]int{128, 128, 8}, [2]int{32, 64}, 4, "simt", 8, false},
		{"any_c64", 0, 80, dtype.Complex64, dtype.Complex64, "tf32", [3]int{128, 64, 16}, [2]int{32, 32}, 4, "multistage", 8, false},
	}
	for _, h := range halves {
		for _, out := range []dtype.DType{h, dtype.Float32} {
			list = append(list, classic{"sm80_" + tokens[h].name, 80, 80, h, out, tokens[h].cpp, [3]int{128, 128, 32}, [2]int{64, 64}, 4, "multistage", 16, true})
		}
	}
	for _, f := range append(list, []classic{
		{"sm80_tf32", 80, 80, dtype.Float32, dtype.Float32, "tf32", [3]int{128, 128, 16}, [2]int{64, 64}, 4, "multistage", 16, true},
		{"sm80_f64", 80, 80, dtype.Float64, dtype.Float64, "fp64", [3]int{128, 128, 16}, [2]int{32, 64}, 3, "multistage", 8, false},
		{"sm80_f64", 80, 80, dtype.Complex128, dtype.Complex128, "c128", [3]int{128, 64, 8}, [2]int{32, 32}, 3, "multistage", 16, false},
	}...) {
		fs = append(fs, family{f.unitSM, Kernel{
			Unit: f.unit, SM: f.sm, A: f.in, B: f.in,
			Tile: f.tile, Warp: f.warp, Cluster: [2]int{1, 1}, Stages: f.stages, Schedule: f.schedule, Math: f.math,
			AlignA: f.vector, AlignB: f.vector, AlignOut: f.out.Size(), Epilogue: f.epilogue,
			TensorCore: f.schedule == "multistage",
		}, []dtype.DType{f.out}, allMajors})
	}

	fs = append(fs, longFamilies()...)
	fs = append(fs, c64Families()...)

	// Integers, by src/gemm_int.cuh, without tensor cores. They support only alpha = 1.
	for _, in := range []dtype.DType{dtype.Int8, dtype.Uint8, dtype.Int32, dtype.Int64} {
		out := in
		if in.Size() == 1 {
			out = dtype.Int32
		}
		fs = append(fs, family{0, Kernel{
			Unit: "gemm_plain", SM: 80, A: in, B: in,
			Tile: [3]int{64, 64, 16}, Cluster: [2]int{1, 1}, Stages: 1, Schedule: "plain", Math: "int",
			AlignA: in.Size(), AlignB: in.Size(), AlignOut: out.Size(),
		}, []dtype.DType{out}, allMajors})
	}
	return slices.Concat(fs, skinnyFamilies(), fewFamilies(), tf32x3Families())
}

// typeNames are the names of operands and result in a kernel's name.
func (k *Kernel) typeNames() (in, out string) {
	in, out = tokens[k.A].name, tokens[k.Out].name
	switch k.Math {
	case "tf32":
		in = map[dtype.DType]string{dtype.Float32: "tf32", dtype.Complex64: "c64tf32"}[k.A]
	case "tf32x3":
		in = k.Math
	}
	switch {
	case k.Scaled:
		in += "s"
	case k.Split:
		in += "x3"
	}
	if k.AbsSquare {
		out += "sq"
	}
	return in, out
}

// complete sets the fields that follow from the others.
func (k *Kernel) complete(unitSM int) {
	k.MultipleK = 1
	if k.Warp != [2]int{} && k.Schedule != "ring" && (k.MajorA == RowMajor || k.MajorB == ColMajor) {
		k.MultipleK = k.AlignA / k.A.Size()
	}
	arch := fmt.Sprintf("sm%d", k.SM)
	if unitSM == 0 {
		arch = "any"
	}
	in, out := k.typeNames()
	k.Name = fmt.Sprintf("%s_%s_%s_%c%c_%s", arch, in, out, "rc"[k.MajorA], "rc"[k.MajorB], dims(k.Tile[:]))
	if k.wgmma() {
		k.Name += "_" + dims(k.Cluster[:])
	}
	if k.Swapped {
		k.Name += "_swapped"
	}
	if k.Direct {
		k.Name += "_direct"
	}
	if k.Large {
		k.Name += "_large"
	}
	k.Name += "_" + k.Schedule
	if n := k.CTAs + k.Parts; n > 0 {
		k.Name += fmt.Sprint(n)
	}
	switch {
	case k.ConjA:
		k.Name += "_conja"
	case k.ConjB:
		k.Name += "_conjb"
	}
}

// wgmma reports whether the kernel is from gemm_sm90.cuh or a related file.
func (k Kernel) wgmma() bool {
	return slices.Contains([]string{"cooperative", "pingpong", "single", "streamk"}, k.Schedule)
}

// dims joins numbers as 128x256x64.
func dims(ns []int) string {
	s := ""
	for i, n := range ns {
		if i > 0 {
			s += "x"
		}
		s += fmt.Sprint(n)
	}
	return s
}
