package matmul

import (
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/layout"
)

// TestDescribeEmpty: the plan of an empty product or an empty sum names no kernel.
func TestDescribeEmpty(t *testing.T) {
	dev := devicetest.NewFake(device.Info{Name: "fake", Kind: device.CUDA}, sm90)
	for _, c := range []struct {
		m, k, n int
		bias    bool
		steps   string
		none    bool
	}{
		{4, 0, 5, false, "", true},
		{4, 0, 5, true, "epilogueD", true},
		{0, 3, 5, false, "", true},
		{4, 3, 0, true, "", true},
		{4, 3, 5, false, "", false},
	} {
		p := Product{
			A: device.View{DType: fp32, Layout: layout.Dense([]int{c.m, c.k})}, B: device.View{DType: fp32, Layout: layout.Dense([]int{c.k, c.n})},
			Precision: FullPrecision,
		}
		if c.bias {
			p.Bias.DType = fp32
		}
		plan, err := p.Describe(dev, []int{c.m, c.n}, fp32)
		if err != nil {
			t.Fatal(err)
		}
		if (plan.Kernel == "none") != c.none || c.none && kinds(plan) != c.steps {
			t.Errorf("%d x %d x %d, bias %v: %v", c.m, c.k, c.n, c.bias, plan)
		}
	}
}

// TestServes: planes serve only products that read their form, with matching members.
func TestServes(t *testing.T) {
	p := &Packed{form: formFor(fp32, TF32), member: 12}
	for _, c := range []struct {
		p         *Packed
		s         stack
		precision Precision
		want      bool
	}{
		{nil, stack{batch: 1}, TF32, false},
		{&Packed{}, stack{batch: 1}, TF32, false},
		{p, stack{batch: 1}, TF32, true},
		{p, stack{batch: 1}, FullPrecision, false},
		{p, stack{batch: 3}, TF32, true},
		{p, stack{batch: 3, b: matrix{batchStride: 12}}, TF32, true},
		{p, stack{batch: 3, b: matrix{batchStride: 24}}, TF32, false},
	} {
		if got := c.p.serves(c.s, formFor(fp32, c.precision)); got != c.want {
			t.Errorf("%+v, %+v, %v: %v", c.p, c.s, c.precision, got)
		}
	}
}
