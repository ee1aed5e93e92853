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

// TestChoose checks for fake devices which kernels are taken, with which steps.
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
			"sm90_bf16_bf16_rr_128x128x64", "kernel", true,
		},
		"transposed B needs no copy": {
			Problem{M: 4096, N: 4096, K: 4096, A: fp16, B: fp16, LayoutB: ColMajor, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"sm90_f16_f16_rc_128x128x64", "kernel", true,
		},
		"both transposed": {
			Problem{M: 4096, N: 4096, K: 4096, A: fp16, B: fp16, LayoutA: ColMajor, LayoutB: ColMajor, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"sm90_f16_f16_cc_", "kernel", true,
		},
		"unaligned stays on tensor cores": {
			Problem{M: 4095, N: 4095, K: 4095, A: bf16, B: bf16, AlignA: 2, AlignB: 2, AlignC: 2},
			90,
			"sm90_bf16_bf16_", "padA padB kernel stripD", true,
		},
		"one unaligned operand": {
			Problem{M: 4096, N: 4096, K: 4095, A: bf16, B: bf16, AlignA: 2, AlignB: 16, AlignC: 16},
			90,
			"sm90_bf16_bf16_rr", "padA kernel", true,
		},
		"TF32 reads B with k contiguous": {
			Problem{M: 2048, N: 2048, K: 2048, A: fp32, B: fp32, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"sm90_tf32_f32_rc", "transposeB kernel", true,
		},
		"TF32 with B as it wants it": {
			Problem{M: 2048, N: 2048, K: 2048, A: fp32, B: fp32, LayoutB: ColMajor, AlignA: 16, AlignB: 16, AlignC: 16},
			90,
			"sm90_tf32_f32_rc", "kernel", true,
		},
		"FullPrecision is not TF32 for any shape": {
			Problem{M: 2048, N: 2048, K: 2048, A: fp32, B: fp32, AlignA: 16, AlignB: 16, AlignC: 16, Precision: FullPrecision},
			90,
			"f32_f32", "kernel", false,
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
				t.Errorf("the plan does not explain itself: %v", plan)
			}
			again, _ := Choose(c.p, device.CapabilitiesOf(c.sm))
			if again.String() != plan.String() {
				t.Errorf("two plans of one problem:\n%v\n%v", plan, again)
			}
		})
	}
}

// TestModel: the tile that measured best on an H200 is the one chosen.
func TestModel(t *testing.T) {
	c := sm90
	c.MultiProcessors = 132
	for n, tile := range map[int][3]int{
		1024: {64, 128, 64}, 1536: {128, 192, 64}, 2048: {128, 128, 64}, 3072: {128, 192, 64}, 4096: {128, 128, 64}, 8192: {128, 128, 64},
	} {
		plan, err := Choose(Problem{M: n, N: n, K: n, A: bf16, B: bf16, AlignA: 16, AlignB: 16, AlignC: 16}, c)
		if err != nil || plan.Tile != tile {
			t.Errorf("%d: %v, %v, want tile %v", n, plan, err, tile)
		}
	}
}

// TestChoosePrecision: for every shape and alignment the kernel computes in
// the precision asked for.
func TestChoosePrecision(t *testing.T) {
	math := map[string]string{}
	for _, k := range cutlass.Kernels() {
		math[k.Name] = k.Math
	}
	for _, sm := range []int{80, 86, 89, 90, 100, 120} {
		for _, n := range []int{1, 7, 64, 1000, 4095, 4096, 16384} {
			for _, align := range []int{4, 8, 16} {
				for prec, want := range map[Precision]string{TF32: "tf32", FullPrecision: "fp32"} {
					p, err := Choose(Problem{M: n, N: n, K: n, A: fp32, B: fp32, AlignA: align, AlignB: align, AlignC: align, Precision: prec}, device.CapabilitiesOf(sm))
					if err != nil {
						t.Fatal(err)
					}
					if math[p.Kernel] != want {
						t.Errorf("SM %d, n = %d, align %d: %v runs %s", sm, n, align, prec, p.Kernel)
					}
				}
			}
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
		t.Errorf("a kernel that is not there: %v", err)
	}
}

// TestForced: every kernel of the manifest is chosen when asked for, on the
// device that it is for.
func TestForced(t *testing.T) {
	for _, k := range cutlass.Kernels() {
		prec := Default
		switch {
		case k.Math == "tf32":
			prec = TF32
		case k.A == fp32 || k.A == dtype.Complex64:
			prec = FullPrecision
		}
		p := Problem{M: 100, N: 90, K: 70, A: k.A, B: k.B, Out: k.Out, Precision: prec}
		plan, _, err := choose(p, sm90, k.Name, manifest)
		if err != nil || plan.Kernel != k.Name {
			t.Errorf("%s on SM 90: %v, %v", k.Name, plan.Kernel, err)
		}
		for _, sm := range []int{80, 86, 89} {
			if _, _, err := choose(p, device.CapabilitiesOf(sm), k.Name, manifest); (err == nil) != (unitSM[k.Unit] != 90) {
				t.Errorf("%s on SM %d: %v", k.Name, sm, err)
			}
		}
	}
}

// TestWorkspace: what a plan says it needs is what its steps copy.
func TestWorkspace(t *testing.T) {
	p, err := Choose(Problem{M: 4095, N: 4097, K: 4095, A: bf16, B: bf16}, sm90)
	if err != nil {
		t.Fatal(err)
	}
	want := int64(2 * (4095*4096 + 4095*4104 + 4095*4104))
	if p.Workspace != want {
		t.Errorf("workspace %d, want %d: %v", p.Workspace, want, p)
	}
}
