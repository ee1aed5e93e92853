package matmul

import (
	"errors"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

var (
	bf16, fp16, fp32 = dtype.BFloat16, dtype.Float16, dtype.Float32
	sm90             = device.CapabilitiesOf(90)
)

func kinds(p Plan) string {
	var s []string
	for _, x := range p.Steps {
		s = append(s, stepNames[x.Kind]+x.Operand)
	}
	return strings.Join(s, " ")
}

// TestChoose checks the kernels and steps that are chosen for fake devices.
func TestChoose(t *testing.T) {
	for name, c := range map[string]struct {
		p      Problem
		sm     int
		kernel string // a part of the name
		steps  string
		tensor bool
	}{
		"aligned": {
			Problem{M: 4096, N: 4096, K: 4096, A: bf16, B: bf16, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"sm90_bf16_bf16_rr_256x128x64", "kernel", true,
		},
		"transposed B needs no copy": {
			Problem{M: 4096, N: 4096, K: 4096, A: fp16, B: fp16, LayoutB: ColMajor, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"sm90_f16_f16_rc_256x128x64", "kernel", true,
		},
		"a small TF32 product starts sooner without TMA": {
			Problem{M: 256, N: 256, K: 256, A: fp32, B: fp32, Precision: TF32, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"any_tf32_f32_rr_16x64x16_skinny", "kernel", true,
		},
		"but not in several waves": {
			Problem{M: 16, N: 28672, K: 128, A: fp32, B: fp32, Precision: TF32, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"sm90_tf32_f32_rr_16x128x32", "kernel", true,
		},
		"both transposed": {
			Problem{M: 4096, N: 4096, K: 4096, A: fp16, B: fp16, LayoutA: ColMajor, LayoutB: ColMajor, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"sm90_f16_f16_cc_", "kernel", true,
		},
		"unaligned stays on tensor cores": {
			Problem{M: 4095, N: 4095, K: 4095, A: bf16, B: bf16, AlignA: 2, AlignB: 2, AlignC: 2},
			90,
			"sm90_bf16_bf16_rr_128x128x64_2x1_direct", "padA padB kernel", true,
		},
		"an odd number of columns alone": {
			Problem{M: 4096, N: 4097, K: 4096, A: fp16, B: fp16, LayoutB: ColMajor, AlignA: 16, AlignB: 16, AlignC: 2},
			90,
			"sm90_f16_f16_rc_128x128x64_2x1_direct", "kernel", true,
		},
		"columns that are not neighbours": {
			Problem{M: 4096, N: 4096, K: 4096, A: fp16, B: fp16, AlignA: 16, AlignB: 16, AlignC: 1},
			90,
			"sm90_f16_f16_rr_256x128x64", "kernel copy outD", true,
		},
		"few tiles, long k": {
			Problem{M: 512, N: 512, K: 16384, A: bf16, B: bf16, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"sm90_bf16_f32_rr_128x128", "kernel splitk", true,
		},
		"few tiles, long k, into odd rows with a bias": {
			Problem{M: 512, N: 511, K: 16384, A: fp16, B: fp16, AlignA: 16, AlignB: 16, AlignC: 2, LayoutB: ColMajor, Epilogue: Epilogue{Bias: true}},
			90,
			"sm90_f16_f32_rc_128x128", "kernel splitk", true,
		},
		"one unaligned operand": {
			Problem{M: 4096, N: 4096, K: 4095, A: bf16, B: bf16, AlignA: 2, AlignB: 16, AlignC: 16},
			90,
			"sm90_bf16_bf16_rr", "padA kernel", true,
		},
		"small TF32 with B as it wants it": {
			Problem{M: 512, N: 512, K: 512, A: fp32, B: fp32, LayoutB: ColMajor, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"sm90_tf32_f32_rc", "kernel", true,
		},
		"large TF32 on float16 kernels": {
			Problem{M: 4096, N: 4096, K: 4096, A: fp32, B: fp32, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"sm90_f16s_f32_rr", "scaleA and B kernel kernel", true,
		},
		"its majors are the operands'": {
			Problem{M: 4096, N: 4096, K: 4096, A: fp32, B: fp32, LayoutA: ColMajor, LayoutB: ColMajor, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"sm90_f16s_f32_cc", "scaleA and B kernel kernel", true,
		},
		"its operands need no alignment": {
			Problem{M: 4095, N: 4095, K: 4095, A: fp32, B: fp32},
			90,
			"sm90_f16s_f32_rr", "scaleA and B kernel kernel copy outD", true,
		},
		"a packed B is there": {
			Problem{M: 4096, N: 4096, K: 4096, A: fp32, B: fp32, LayoutB: ColMajor, AlignA: 16, AlignB: 16, AlignC: 16, Packed: true},
			90,
			"sm90_f16s_f32_rc", "scaleA kernel kernel", true,
		},
		"a strided B is copied first": {
			Problem{M: 4096, N: 4096, K: 4096, A: fp32, B: fp32, LayoutB: Strided, AlignA: 16, AlignC: 16},
			90,
			"sm90_f16s_f32_r", "packB scaleA and B kernel kernel", true,
		},
		"few rows, B packed": {
			Problem{M: 64, N: 14336, K: 4096, A: fp32, B: fp32, LayoutB: ColMajor, AlignA: 16, AlignB: 16, AlignC: 16, Packed: true},
			90,
			"sm90_f16s_f32_rc", "scaleA kernel kernel", true,
		},
		"FullPrecision is not TF32 for any shape": {
			Problem{M: 2048, N: 2048, K: 2048, A: fp32, B: fp32, AlignA: 16, AlignB: 16, AlignC: 16, Precision: FullPrecision},
			90,
			"sm90_f16x3_f32_rr", "scale and splitA and B kernel kernel", true,
		},
		"small FullPrecision": {
			Problem{M: 32, N: 32, K: 32, A: fp32, B: fp32, AlignA: 16, AlignB: 16, AlignC: 16, Precision: FullPrecision},
			90,
			"any_f32_f32_rr", "kernel", false,
		},
		"FullPrecision on Ampere": {
			Problem{M: 2048, N: 2048, K: 2048, A: fp32, B: fp32, AlignA: 16, AlignB: 16, AlignC: 16, Precision: FullPrecision},
			80,
			"any_f32_f32_rr", "kernel", false,
		},
		"complex64 as a real product": {
			Problem{M: 2048, N: 2048, K: 2048, A: dtype.Complex64, B: dtype.Complex64, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"sm90_f16x3_f32_rr", "scale and splitA and B kernel kernel", true,
		},
		"complex64 in TF32's precision": {
			Problem{M: 2048, N: 2048, K: 2048, A: dtype.Complex64, B: dtype.Complex64, AlignA: 16, AlignB: 16, AlignC: 16, Precision: TF32},
			90,
			"sm90_f16s_f32_rr", "scaleA and B kernel kernel", true,
		},
		"conjugates cost no copy": {
			Problem{M: 2048, N: 2048, K: 2048, A: dtype.Complex64, B: dtype.Complex64, LayoutB: ColMajor, ConjB: true, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"sm90_f16x3_f32_rc", "scale and splitA and B kernel kernel", true,
		},
		"small conjugates cost none either": {
			Problem{M: 16, N: 16, K: 16, A: dtype.Complex64, B: dtype.Complex64, LayoutB: ColMajor, ConjB: true},
			90,
			"any_c64_c64_rc_64x64x16_plain_conjb", "kernel", false,
		},
		"complex128 is conjugated on the way": {
			Problem{M: 64, N: 64, K: 64, A: dtype.Complex128, B: dtype.Complex128, LayoutB: ColMajor, ConjB: true},
			90,
			"sm90_c128", "transposeB kernel", true,
		},
		"Gram matrix of states": {
			Problem{M: 4096, N: 4096, K: 1024, A: dtype.Complex64, B: dtype.Complex64, LayoutB: ColMajor, ConjB: true, AbsSquare: true, Symmetric: true, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"sm90_f16x3_f32sq_rc", "scale and splitA and B kernel kernel mirrorD", true,
		},
		"the same, small": {
			Problem{M: 16, N: 16, K: 16, A: dtype.Complex64, B: dtype.Complex64, LayoutB: ColMajor, ConjB: true, AbsSquare: true, Symmetric: true},
			90,
			"any_c64_f32sq_rc_64x64x16_plain_conjb", "kernel mirrorD", false,
		},
		"squares of what no kernel squares": {
			Problem{M: 256, N: 256, K: 256, A: bf16, B: bf16, AbsSquare: true, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"sm90_bf16_f32_rr", "kernel squareD", true,
		},
		"squares of complex128": {
			Problem{M: 256, N: 256, K: 256, A: dtype.Complex128, B: dtype.Complex128, AbsSquare: true, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"sm90_c128_c128_rr", "kernel squareD", true,
		},
		"strided": {
			Problem{M: 256, N: 256, K: 256, A: bf16, B: bf16, LayoutA: Strided, AlignB: 16, AlignC: 16},
			90,
			"sm90_bf16_bf16", "packA kernel", true,
		},
		"integers": {
			Problem{M: 100, N: 100, K: 100, A: dtype.Int8, B: dtype.Int8}, 90, "i8_i32_rr", "kernel", false,
		},
		"float64": {
			Problem{M: 100, N: 101, K: 103, A: dtype.Float64, B: dtype.Float64}, 90, "sm90_f64", "kernel", true,
		},
		"complex":       {Problem{M: 9, N: 9, K: 9, A: dtype.Complex64, B: dtype.Complex64}, 90, "any_c64_c64_rr", "kernel", false},
		"complex TF32":  {Problem{M: 9, N: 9, K: 9, A: dtype.Complex64, B: dtype.Complex64, Precision: TF32}, 90, "any_c64tf32", "kernel", true},
		"float32 out":   {Problem{M: 64, N: 64, K: 64, A: fp16, B: fp16, Out: fp32, AlignA: 16, AlignB: 16, AlignC: 16}, 90, "sm90_f16_f32", "kernel", true},
		"Ampere":        {Problem{M: 512, N: 512, K: 512, A: bf16, B: bf16, AlignA: 16, AlignB: 16, AlignC: 16}, 80, "sm80_bf16_bf16_rr", "kernel", true},
		"Ampere, odd":   {Problem{M: 511, N: 511, K: 511, A: bf16, B: bf16}, 86, "sm80_bf16_bf16", "padA padB kernel", true},
		"Ada TF32":      {Problem{M: 512, N: 512, K: 512, A: fp32, B: fp32, AlignA: 16, AlignB: 16, AlignC: 16}, 89, "sm80_tf32_f32_rr", "kernel", true},
		"Blackwell PTX": {Problem{M: 512, N: 512, K: 512, A: fp16, B: fp16, AlignA: 16, AlignB: 16, AlignC: 16}, 100, "sm80_f16", "kernel", true},
		"epilogue of its own": {
			Problem{M: 64, N: 64, K: 64, A: dtype.Float64, B: dtype.Float64, Epilogue: Epilogue{Bias: true, Activation: GELU}},
			90,
			"sm90_f64", "kernel epilogueD", true,
		},
		"fused epilogue": {
			Problem{M: 64, N: 64, K: 64, A: bf16, B: bf16, LayoutB: ColMajor, AlignA: 16, AlignB: 16, AlignC: 16, Epilogue: Epilogue{Bias: true, Activation: GELU}},
			90,
			"sm90_bf16_bf16_rc", "kernel", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := Choose(c.p, device.CapabilitiesOf(c.sm))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(plan.Kernel, c.kernel) {
				t.Errorf("kernel %s, want one with %q", plan.Kernel, c.kernel)
			}
			if k := kinds(plan); k != c.steps {
				t.Errorf("steps %q, want %q", k, c.steps)
			}
			if plan.TensorCore != c.tensor {
				t.Errorf("TensorCore is %v", plan.TensorCore)
			}
			if plan.Reason == "" || plan.Tile == [3]int{} || !strings.Contains(plan.String(), plan.Kernel) {
				t.Errorf("the plan gives no reason: %v", plan)
			}
			again, _ := Choose(c.p, device.CapabilitiesOf(c.sm))
			if again.String() != plan.String() {
				t.Errorf("two plans of one problem:\n%v\n%v", plan, again)
			}
		})
	}
}

// TestModel: the chosen tile is the fastest that was measured on an H200, or at most
// 3 % slower.
func TestModel(t *testing.T) {
	c := sm90
	c.MultiProcessors = 132
	for _, test := range []struct {
		p    Problem
		want string
	}{
		{Problem{M: 512, N: 512, K: 512, A: bf16}, "sm90_bf16_bf16_rr_64x64x64_1x1_pingpong"},
		{Problem{M: 1024, N: 1024, K: 1024, A: bf16}, "sm90_bf16_bf16_rr_64x128x128_1x1_single1"},
		{Problem{M: 2048, N: 2048, K: 2048, A: fp16}, "sm90_f16_f16_rr_256x128x64_1x1_swapped_large_cooperative"},
		{Problem{M: 3072, N: 3072, K: 3072, A: bf16}, "sm90_bf16_bf16_rr_192x128x64_1x2_swapped_large_pingpong"},
		{Problem{M: 4000, N: 4000, K: 4000, A: bf16}, "sm90_bf16_bf16_rr_160x192x64_1x1_swapped_large_cooperative"},
		{Problem{M: 4096, N: 4096, K: 4096, A: bf16}, "sm90_bf16_bf16_rr_256x128x64_1x1_swapped_large_cooperative"},
		{Problem{M: 4096, N: 14336, K: 4096, A: bf16}, "sm90_bf16_bf16_rr_256x128x64_1x1_swapped_large_cooperative"},
		{Problem{M: 8192, N: 8192, K: 8192, A: bf16}, "sm90_bf16_bf16_rr_192x128x64_1x2_swapped_large_pingpong"},
		{Problem{M: 8192, N: 16384, K: 4096, A: fp16}, "sm90_f16_f16_rr_192x128x64_1x2_swapped_large_pingpong"},
		{Problem{M: 2048, N: 2048, K: 2048, LayoutA: ColMajor, A: bf16}, "sm90_bf16_bf16_cr_256x128x64_1x1_swapped_large_cooperative"},
		{Problem{M: 512, N: 512, K: 16384, A: fp16}, "sm90_f16_f32_rr_128x128x64_2x1_pingpong"},
		{Problem{M: 256, N: 4096, K: 14336, A: bf16}, "sm90_bf16_f32_rr_128x128x64_2x1_pingpong"},
		{Problem{M: 512, N: 512, K: 4096, A: bf16}, "sm90_bf16_bf16_rr_64x64x64_1x1_pingpong"},
		{Problem{M: 1024, N: 1024, K: 4096, A: bf16}, "sm90_bf16_bf16_rr_64x128x128_1x1_single1"},
		{Problem{M: 1, N: 14336, K: 4096, A: bf16}, "sm90_bf16_bf16_rr_16x128x128_1x1_swapped_cooperative"},
		{Problem{M: 16, N: 14336, K: 4096, A: bf16}, "sm90_bf16_bf16_rr_16x128x128_1x1_swapped_cooperative"},
		{Problem{M: 32, N: 14336, K: 4096, A: bf16}, "sm90_bf16_bf16_rr_32x128x64_1x1_swapped_cooperative"},
		{Problem{M: 64, N: 14336, K: 4096, A: bf16}, "sm90_bf16_bf16_rr_64x64x128_1x1_single2"},
		{Problem{M: 128, N: 14336, K: 4096, A: bf16}, "sm90_bf16_bf16_rr_128x128x64_1x1_swapped_cooperative"},
		{Problem{M: 512, N: 512, K: 512, Batch: 64, A: bf16}, "sm90_bf16_bf16_rr_128x128x64_2x1_pingpong"},
		{Problem{M: 128, N: 128, K: 128, Batch: 256, A: bf16}, "sm90_bf16_bf16_rr_128x128x64_1x1_swapped_cooperative"},
		{Problem{M: 64, N: 64, K: 64, Batch: 4096, A: bf16}, "sm90_bf16_bf16_rr_64x64x64_1x1_pingpong"},
		{Problem{M: 512, N: 3072, K: 768, A: bf16, LayoutB: ColMajor, Epilogue: Epilogue{Bias: true, Activation: GELUTanh}}, "sm90_bf16_bf16_rc_64x96x64_1x1_single2"},
		{Problem{M: 4096, N: 3072, K: 768, A: bf16, LayoutB: ColMajor, Epilogue: Epilogue{Bias: true, Activation: GELUTanh}}, "sm90_bf16_bf16_rc_192x128x64_1x2_swapped_large_pingpong"},
		{Problem{M: 8192, N: 4096, K: 1024, A: bf16, LayoutB: ColMajor, Epilogue: Epilogue{Bias: true, Activation: GELUTanh}}, "sm90_bf16_bf16_rc_192x128x64_1x2_swapped_large_pingpong"},
		{Problem{M: 1, N: 4096, K: 14336, A: bf16, LayoutB: ColMajor}, "sm90_bf16_bf16_rc_16x128x128_1x1_swapped_cooperative"},
		{Problem{M: 16, N: 4096, K: 4096, A: bf16, LayoutB: ColMajor}, "sm90_bf16_bf16_rc_16x128x128_1x1_swapped_cooperative"},
		{Problem{M: 64, N: 4096, K: 11008, A: bf16, LayoutB: ColMajor}, "sm90_bf16_bf16_rc_64x64x64_1x1_pingpong"},
		{Problem{M: 192, N: 8192, K: 8192, A: bf16, LayoutB: ColMajor}, "sm90_bf16_bf16_rc_64x96x64_1x1_single2"},
		{Problem{M: 256, N: 8192, K: 14336, A: bf16, LayoutB: ColMajor}, "sm90_bf16_bf16_rc_128x128x64_1x1_swapped_cooperative"},
		{Problem{M: 384, N: 4096, K: 11008, A: bf16, LayoutB: ColMajor}, "sm90_bf16_bf16_rc_64x96x64_1x1_single2"},
		{Problem{M: 512, N: 512, K: 512, A: fp32}, "sm90_tf32_f32_rr_64x64x32_1x1_swapped_pingpong"},
		{Problem{M: 1024, N: 1024, K: 1024, A: fp32}, "sm90_tf32_f32_rr_128x64x32_1x1_swapped_pingpong"},
		{Problem{M: 4, N: 14336, K: 4096, A: fp32}, "sm90_tf32_f32_rr_16x128x32_1x1_swapped_cooperative"},
		{Problem{M: 32, N: 14336, K: 4096, A: fp32}, "sm90_tf32_f32_rr_32x128x32_1x1_swapped_cooperative"},
		{Problem{M: 64, N: 14336, K: 4096, A: fp32}, "sm90_tf32_f32_rr_64x128x32_1x1_swapped_cooperative"},
		{Problem{M: 128, N: 14336, K: 4096, A: fp32}, "sm90_tf32_f32_rr_128x128x32_1x1_swapped_cooperative"},
		{Problem{M: 512, N: 512, K: 512, Batch: 64, A: fp32}, "sm90_tf32_f32_rr_256x128x32_1x2_swapped_cooperative"},
		{Problem{M: 64, N: 64, K: 64, Batch: 4096, A: fp32}, "sm90_tf32_f32_rr_64x64x32_1x1_swapped_pingpong"},
		{Problem{M: 1024, N: 1024, K: 1024, A: fp32, Precision: FullPrecision}, "sm90_f16x3_f32_rr_64x128x64_1x1_pingpong"},
		{Problem{M: 2048, N: 2048, K: 2048, A: fp32, Precision: FullPrecision}, "sm90_f16x3_f32_rr_128x256x64_2x1_cooperative"},
		{Problem{M: 3072, N: 3072, K: 3072, A: fp32, Precision: FullPrecision}, "sm90_f16x3_f32_rr_128x128x64_2x1_cooperative"},
		{Problem{M: 4096, N: 4096, K: 4096, A: fp32, Precision: FullPrecision}, "sm90_f16x3_f32_rr_128x256x64_2x1_cooperative"},
		{Problem{M: 8192, N: 8192, K: 8192, A: fp32, Precision: FullPrecision}, "sm90_f16x3_f32_rr_128x256x64_2x1_cooperative"},
		{Problem{M: 3072, N: 3072, K: 3072, A: fp32}, "sm90_f16s_f32_rr_128x192x64_2x1_cooperative"},
		{Problem{M: 4096, N: 4096, K: 4096, A: fp32}, "sm90_f16s_f32_rr_128x256x64_2x1_cooperative"},
		{Problem{M: 8192, N: 8192, K: 8192, A: fp32}, "sm90_f16s_f32_rr_128x256x64_2x1_cooperative"},
		{Problem{M: 512, N: 512, K: 512, A: dtype.Float64}, "sm90_f64_f64_rr_64x64x16_ring2"},
		{Problem{M: 1024, N: 1024, K: 1024, A: dtype.Float64}, "sm90_f64_f64_rr_128x64x16_ring1"},
		{Problem{M: 1536, N: 1536, K: 1536, A: dtype.Float64}, "sm90_f64_f64_rr_64x64x16_ring1"},
		{Problem{M: 128, N: 4096, K: 4096, A: dtype.Float64}, "sm90_f64_f64_rr_64x64x16_ring1"},
		{Problem{M: 896, N: 896, K: 896, A: dtype.Float64}, "sm90_f64_f64_rr_128x64x16_ring1"},
		{Problem{M: 1152, N: 1152, K: 1152, A: dtype.Float64}, "sm90_f64_f64_rr_64x64x16_ring1"},
		{Problem{M: 2048, N: 2048, K: 2048, A: dtype.Float64}, "sm90_f64_f64_rr_128x64x16_ring1"},
		{Problem{M: 3072, N: 3072, K: 3072, A: dtype.Float64}, "sm90_f64_f64_rr_128x64x16_ring1"},
		{Problem{M: 4096, N: 4096, K: 4096, A: dtype.Float64}, "sm90_f64_f64_rr_128x128x16_multistage"},
		{Problem{M: 8192, N: 8192, K: 8192, A: dtype.Float64}, "sm90_f64_f64_rr_128x128x16_multistage"},
	} {
		p := test.p
		p.B, p.AlignA, p.AlignB, p.AlignC = p.A, 16, 16, 16
		plan, err := Choose(p, c)
		if err != nil || plan.Kernel != test.want {
			t.Errorf("%v: %v, %v, want %s", p, plan, err, test.want)
		}
	}
}

// TestChoosePrecision: for every shape and alignment the kernel and its fallback compute
// in the requested precision.
func TestChoosePrecision(t *testing.T) {
	has := func(k cutlass.Kernel, want string) bool {
		switch {
		case k.Scaled:
			return want == "tf32"
		case k.Split:
			return true
		}
		return k.Math == want || k.Math == "fp32" || k.Math == "tf32x3"
	}
	for _, sm := range []int{80, 86, 89, 90, 100, 120} {
		for _, n := range []int{1, 7, 64, 1000, 4095, 4096, 16384} {
			for _, align := range []int{4, 8, 16} {
				for prec, want := range map[Precision]string{TF32: "tf32", FullPrecision: "fp32"} {
					_, c, err := choose(Problem{M: n, N: n, K: n, A: fp32, B: fp32, AlignA: align, AlignB: align, AlignC: align, Precision: prec}, device.CapabilitiesOf(sm), "", manifest)
					if err != nil {
						t.Fatal(err)
					}
					if !has(c.kernel, want) || prec == TF32 && sm < 90 && c.kernel.Math != "tf32" {
						t.Errorf("SM %d, n = %d, align %d: %v runs %s", sm, n, align, prec, c.kernel.Name)
					}
					if (c.form != 0) != (c.fallback != nil) || c.fallback != nil && (!has(c.fallback.kernel, want) || c.fallback.prepA.copy || c.fallback.prepB.copy) {
						t.Errorf("SM %d, n = %d, align %d: %v falls back on %+v", sm, n, align, prec, c.fallback)
					}
				}
			}
		}
	}
}

// TestChooseFallback: the fallback for data that float16 cannot hold is three products of
// TF32 if an operand has k contiguous and TMA can read both, else a float32 kernel.
func TestChooseFallback(t *testing.T) {
	for _, c := range []struct {
		a, b  Layout
		align int
		want  string
	}{
		{RowMajor, RowMajor, 16, "any_tf32x3_f32_rr_128x128x32_ring1"},
		{RowMajor, ColMajor, 16, "any_tf32x3_f32_rc_128x128x32_ring1"},
		{ColMajor, ColMajor, 16, "any_tf32x3_f32_cc_128x128x32_ring1"},
		{ColMajor, RowMajor, 16, "any_f32_f32_cr_128x128x8_simt"},
		{RowMajor, RowMajor, 4, "any_f32_f32_rr_128x128x8_simt"},
	} {
		p := Problem{M: 4096, N: 4096, K: 4096, A: fp32, B: fp32, LayoutA: c.a, LayoutB: c.b, AlignA: c.align, AlignB: c.align, AlignC: 16, Precision: FullPrecision}
		_, found, err := choose(p, sm90, "", manifest)
		if err != nil {
			t.Fatal(err)
		}
		if !found.kernel.Split || found.fallback == nil || found.fallback.kernel.Name != c.want {
			t.Errorf("%v %v, aligned to %d: %s, then %+v", c.a, c.b, c.align, found.kernel.Name, found.fallback)
		}
	}
}

func TestChooseErrors(t *testing.T) {
	ok := Problem{M: 8, N: 8, K: 8, A: bf16, B: bf16}
	with := func(f func(*Problem)) Problem { p := ok; f(&p); return p }
	for name, c := range map[string]struct {
		p    Problem
		c    device.Capabilities
		want error
	}{
		"unknown device": {ok, device.CapabilitiesOf(61), device.ErrDevice},
		"no device":      {ok, device.Capabilities{}, device.ErrDevice},
		"Volta":          {ok, device.CapabilitiesOf(70), device.ErrDevice},
		"mixed":          {with(func(p *Problem) { p.B = fp16 }), sm90, dtype.ErrDType},
		"bool":           {with(func(p *Problem) { p.A, p.B = dtype.Bool, dtype.Bool }), sm90, dtype.ErrDType},
		"TF32 of bf16":   {with(func(p *Problem) { p.Precision = TF32 }), sm90, dtype.ErrDType},
		"output":         {with(func(p *Problem) { p.Out = dtype.Float64 }), sm90, dtype.ErrDType},
		"precision":      {with(func(p *Problem) { p.Precision = 9 }), sm90, dtype.ErrDType},
		"negative":       {with(func(p *Problem) { p.M = -1 }), sm90, nil},
	} {
		_, err := Choose(c.p, c.c)
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, _, err := choose(ok, sm90, "no such kernel", manifest); !errors.Is(err, expr.ErrUnsupported) {
		t.Errorf("a kernel that does not exist: %v", err)
	}
}

// problemOf returns a small problem that the kernel computes.
func problemOf(k cutlass.Kernel) Problem {
	p := Problem{M: 100, N: 90, K: 70, A: k.A, B: k.B, Out: k.Out, ConjA: k.ConjA, ConjB: k.ConjB, AbsSquare: k.AbsSquare}
	switch {
	case k.Scaled || k.Split:
		p.A, p.B = fp32, fp32
		if k.Schedule == "few" {
			p.M, p.AlignA, p.LayoutB, p.Packed = k.Tile[0], k.AlignA, ColMajor, true
		}
		if k.AbsSquare {
			p.A, p.B = dtype.Complex64, dtype.Complex64
		}
		p.Precision = TF32
		if k.Split {
			p.Precision = FullPrecision
		}
	case k.Math == "tf32":
		p.Precision = TF32
	case k.A == fp32 || k.A == dtype.Complex64:
		p.Precision = FullPrecision
	}
	return p
}

// TestForced: every kernel of the manifest is chosen on its device if it is forced.
func TestForced(t *testing.T) {
	for _, k := range cutlass.Kernels() {
		p := problemOf(k)
		plan, _, err := choose(p, sm90, k.Name, manifest)
		if err != nil || plan.Kernel != k.Name {
			t.Errorf("%s on SM 90: %v, %v", k.Name, plan.Kernel, err)
		}
		for _, sm := range []int{80, 86, 89} {
			if _, _, err := choose(p, device.CapabilitiesOf(sm), k.Name, manifest); (err == nil) != (unitSM[k.Unit] != 90 && k.SM <= sm) {
				t.Errorf("%s on SM %d: %v", k.Name, sm, err)
			}
		}
	}
}

// TestWorkspace: a plan's Workspace is the size of the copies that its steps make.
func TestWorkspace(t *testing.T) {
	p, err := Choose(Problem{M: 4095, N: 4097, K: 4095, A: bf16, B: bf16}, sm90)
	if err != nil {
		t.Fatal(err)
	}
	want := int64(2 * (4095*4096 + 4095*4160))
	if p.Workspace != want {
		t.Errorf("workspace %d, want %d: %v", p.Workspace, want, p)
	}
}

// TestAlignedPitch: a pitch holds the line and is a multiple of the alignment. Long
// lines begin at a cache line, at little cost.
func TestAlignedPitch(t *testing.T) {
	for _, size := range []int{2, 4, 8, 16} {
		for length := 1; length < 5000; length++ {
			pitch := alignedPitch(length, size, 16)
			bytes := pitch * size
			if pitch < length || bytes%16 != 0 || length*size >= longLine && bytes%cacheLine != 0 {
				t.Fatalf("%d elements of %d bytes: pitch %d", length, size, pitch)
			}
			if over := bytes - length*size; over >= 16 && 4*over > length*size {
				t.Fatalf("%d elements of %d bytes: pitch %d is more than a quarter too long", length, size, pitch)
			}
		}
	}
}
