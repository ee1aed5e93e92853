package quantum

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// ringCZ embeds by RY, or RY and RZ, and entangles by a ring of CZ: the
// circuits of the peers' suite gram.
func ringCZ(q int, rz bool) *Circuit {
	c := NewCircuit(q)
	for i := range q {
		c.RY(i, Feature(i))
		if rz {
			c.RZ(i, Feature(i))
		}
	}
	for i := range q {
		if q > 1 {
			c.CZ(i, (i+1)%q)
		}
	}
	return c
}

func benchmarkSamples(n, q int) *gpk.Array {
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([]float32, n*q)
	for i := range x {
		x[i] = float32(rng.Float64() * math.Pi)
	}
	return gpk.FromSlice(x, n, q)
}

func BenchmarkGram(b *testing.B) {
	cpu, err := device.Open("cpu")
	if err != nil {
		b.Fatal(err)
	}
	defer device.SetDefault(device.SetDefault(cpu))
	for _, c := range []struct {
		name      string
		circuit   *Circuit
		n         int
		path      Path
		precision Precision
	}{
		{"ryrz_cz", ringCZ(8, true), 1000, General, Standard},
		{"ryrz_cz", ringCZ(8, true), 1000, General, Double},
		{"ry_cz", ringCZ(8, false), 1000, General, Standard},
		{"basic2", BasicEntangler([][]float64{make([]float64, 8), make([]float64, 8)}, EntanglerOptions{Embedding: RYRZ, Reupload: true}), 1000, General, Standard},
		{"zz", ZZFeatureMap(8, 2), 1000, General, Standard},
		{"ry", ringCZ(8, false), 1000, Product, Standard},
		{"ryrz", ringCZ(8, true), 1000, Product, Standard},
		{"ry", ringCZ(8, false), 2000, Product, Standard},
		{"ryrz", ringCZ(8, true), 2000, Product, Standard},
		{"ry", ringCZ(16, false), 2000, Product, Standard},
		{"ryrz", ringCZ(16, true), 2000, Product, Standard},
		{"ryrz", ringCZ(16, true), 2000, Product, Double},
	} {
		b.Run(fmt.Sprintf("circuit=%s/path=%v/precision=%v/qubits=%d/n=%d", c.name, c.path, c.precision, c.circuit.Qubits(), c.n), func(b *testing.B) {
			x := benchmarkSamples(c.n, c.circuit.Qubits())
			var last Report
			least := int64(math.MaxInt64)
			for b.Loop() {
				begun := processorTime()
				r, err := Gram(context.Background(), c.circuit, x, nil, Options{Path: c.path, Precision: c.precision})
				if err != nil {
					b.Fatal(err)
				}
				last = r.Report
				r.K.Free()
				if took := processorTime() - begun; took > 0 {
					least = min(least, took)
				}
			}
			if least < math.MaxInt64 {
				b.ReportMetric(float64(least), "least-cpu-ns") // for machines that are shared
			}
			b.ReportMetric(last.States.Seconds()*1e3, "states-ms")
			b.ReportMetric(last.Product.Seconds()*1e3, "product-ms")
			b.ReportMetric(last.Copy.Seconds()*1e3, "copy-ms")
			b.ReportMetric(last.PairsPerSecond/1e6, "Mpairs/s")
		})
	}
}

func BenchmarkStates(b *testing.B) {
	cpu, err := device.Open("cpu")
	if err != nil {
		b.Fatal(err)
	}
	defer device.SetDefault(device.SetDefault(cpu))
	for _, q := range []int{8, 12, 16} {
		n := 1 << (20 - q)
		x := benchmarkSamples(n, q)
		for name, c := range map[string]*Circuit{"ryrz_cz": ringCZ(q, true), "zz": ZZFeatureMap(q, 2), "basic2": BasicEntangler([][]float64{make([]float64, q), make([]float64, q)}, EntanglerOptions{Reupload: true, Embedding: RYRZ})} {
			b.Run(fmt.Sprintf("circuit=%s/qubits=%d/n=%d", name, q, n), func(b *testing.B) {
				for b.Loop() {
					s, err := States(context.Background(), c, x, gpk.Complex64)
					if err != nil {
						b.Fatal(err)
					}
					s.Free()
				}
				b.SetBytes(int64(n) << q * 8)
			})
		}
	}
}
