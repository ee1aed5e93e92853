package matmul

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestReason: the plan of any problem names the predicted time of its kernel and of the
// next kernels in order. The same problem has the same plan.
func TestReason(t *testing.T) {
	rng := testrand.New(t)
	names := map[string]bool{}
	for _, k := range cutlass.Kernels() {
		names[k.Name] = true
	}
	predicted := regexp.MustCompile(`([0-9.e+]+) us \(([0-9.e+]+) cycles\)`)
	types := []dtype.DType{bf16, fp16, fp32, dtype.Float64, dtype.Complex64, dtype.Complex128, dtype.Int8, dtype.Int32}
	length := func() int {
		return max(1, []int{1, 16, 64, 511, 777, 1024, 4095, 4096, 8192}[rng.IntN(9)]+rng.IntN(3)-1)
	}
	others := 0
	for range 400 {
		dt := types[rng.IntN(len(types))]
		p := Problem{M: length(), N: length(), K: length(), Batch: 1 + rng.IntN(2)*rng.IntN(40), A: dt, B: dt, LayoutA: Layout(rng.IntN(2)), LayoutB: Layout(rng.IntN(2))}
		if rng.IntN(2) == 0 {
			p.AlignA, p.AlignB, p.AlignC = 16, 16, 16
		}
		if dt == fp32 || dt == dtype.Complex64 {
			p.Precision = []Precision{TF32, FullPrecision}[rng.IntN(2)]
		}
		plan, err := Choose(p, sm90)
		if err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		if again, err := Choose(p, sm90); err != nil || !reflect.DeepEqual(plan, again) {
			t.Errorf("%+v: %v, and then %v", p, plan, again)
		}
		parts := strings.Split(plan.Reason, "; then ")
		previous := 0.0
		for i, part := range parts {
			m := predicted.FindStringSubmatch(part)
			if m == nil {
				t.Fatalf("%+v: %q of %q says no time", p, part, plan.Reason)
			}
			cycles, err := strconv.ParseFloat(m[2], 64)
			if err != nil || cycles <= 0 || cycles < previous {
				t.Errorf("%+v: %q: %v cycles after %v, %v", p, plan.Reason, cycles, previous, err)
			}
			previous = cycles
			if i == 0 {
				continue
			}
			others++
			if name, _, _ := strings.Cut(part, ","); !names[name] && !names[strings.TrimSuffix(name, inParts)] {
				t.Errorf("%+v: %q is no kernel of the manifest", p, name)
			}
		}
		var count int
		if _, rest, ok := strings.Cut(parts[0], "the least of "); ok {
			count, _ = strconv.Atoi(rest)
		} else if strings.Contains(parts[0], "the only kernel") {
			count = 1
		}
		if count < 1 || len(parts) != min(count, 4) || !names[plan.Kernel] || !strings.Contains(plan.String(), plan.Reason) {
			t.Errorf("%+v: of %d kernels %d are named: %v", p, count, len(parts), plan)
		}
	}
	if others < 400 {
		t.Errorf("only %d runners-up in 400 plans", others)
	}
}
