package gpktest

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/quantum"
)

// quantumStreams: the number of streams changes no bit, of K and of the report.
func (s *suite) quantumStreams(t *testing.T) {
	c, _ := s.quantumCircuit(5, 25, false)
	_, x := s.quantumSamples(700)
	for _, o := range []quantum.Options{{}, {Precision: quantum.Fast}, {Precision: quantum.Double}, {Path: quantum.General, Keep: quantum.Recompute}} {
		o.Tile = 100
		var first []float64
		var report quantum.Report
		for _, o.Streams = range []int{1, 2, 4, 8} {
			r, err := quantum.Gram(context.Background(), c, x, nil, o)
			if err != nil {
				t.Fatal(err)
			}
			k := must[float64](t, r.K.Cast(gpk.Float64))
			r.K.Free()
			if first == nil {
				first, report = k, r.Report
			}
			if !slices.Equal(k, first) || r.Report.OffDiagonalMean != report.OffDiagonalMean || r.Report.OffDiagonalStd != report.OffDiagonalStd {
				t.Errorf("%+v gives other bits than one stream", o)
			}
		}
	}
}

// quantumReport: what was measured is there, adds up, and is what the device did.
func (s *suite) quantumReport(t *testing.T) {
	c, _ := s.quantumCircuit(7, 40, false)
	const n = 1100
	_, x := s.quantumSamples(n)
	if err := gpk.Eval(x); err != nil {
		t.Fatal(err)
	}
	gpu := s.dev.Kind() == device.CUDA
	for _, o := range []quantum.Options{
		{},
		{Precision: quantum.Double},
		{Path: quantum.General},
		{Path: quantum.General, Precision: quantum.Double, Keep: quantum.Recompute, Tile: 300},
		{Path: quantum.General, Output: &smallDisk{left: 1 << 40}},
		{Path: quantum.General, Precision: quantum.Double, MemoryBudget: 24 << 20}, // K goes to a GPU's host
	} {
		if !gpu && o.MemoryBudget > 0 {
			continue
		}
		watch := devicetest.Watch(s.dev)
		r, err := quantum.Gram(context.Background(), c, x, nil, o)
		most := watch.Stop()
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		p := r.Report
		// Kernels that turn samples into a closed form at once have neither states nor copies apart.
		once := gpu && p.Path == quantum.Product && p.Launches == 2
		if (p.States <= 0) != once || p.States < 0 || p.Product <= 0 || p.Other < 0 || p.Copy < 0 || p.Total < p.States || p.Total < p.Product {
			t.Errorf("%+v: seconds %+v", o, p)
		}
		if p.Pairs != n*(n+1)/2 || math.Abs(p.PairsPerSecond*p.Total.Seconds()/float64(p.Pairs)-1) > 1e-6 || p.Launches < 1 || p.Path != r.Plan.Path || p.Precision != o.Precision {
			t.Errorf("%+v: %+v", o, p)
		}
		if p.MaxBuilds < 1 && p.Path == quantum.General || p.MaxBuilds > r.Plan.Builds || !(p.MaxDiagonalError >= 0) || p.MaxDiagonalError > 1e-4 || o.Precision == quantum.Double && p.MaxDiagonalError > 1e-12 {
			t.Errorf("%+v: %+v of %+v", o, p, r.Plan)
		}
		if gpu && (p.Copy <= 0 || p.FromDevice <= 0 || !(p.FromDeviceGBs > 0) || (p.ToDevice <= 0) != once || p.ToDevice < 0 || (p.ToDeviceGBs > 0) == once) {
			t.Errorf("%+v: copies %+v", o, p)
		}
		if onHost := gpu && (o.Output != nil || r.Plan.OnHost); onHost && (p.FromDevice < int64(n*n*4) || p.Writing <= 0) {
			t.Errorf("%+v: K left the device with %d bytes in %v", o, p.FromDevice, p.Writing)
		}
		names, sum := map[string]int64{}, int64(0)
		for _, b := range p.Peak {
			names[b.Name] += b.Bytes
			if b.Bytes < 0 {
				t.Errorf("%+v: %+v", o, p.Peak)
			}
			if b.Name == "states" || b.Name == "K" || b.Name == "workspace" {
				sum += b.Bytes
			}
		}
		if sum < most || names["states"] == 0 && p.Path == quantum.General || o.Output == nil && names["K"] == 0 && names["K on the host"] == 0 {
			t.Errorf("%+v: %+v, and %d bytes were in use at most", o, p.Peak, most)
		}
		if most > r.Plan.PeakBytes || r.Plan.PeakBytes > r.Plan.Budget {
			t.Errorf("%+v: %d bytes were in use at most, the plan says %d of %d", o, most, r.Plan.PeakBytes, r.Plan.Budget)
		}
		if o.Output == nil { // mean and deviation, by another way
			k := must[float64](t, r.K.Cast(gpk.Float64))
			mean, squares := 0.0, 0.0
			for i := range n {
				for j := i + 1; j < n; j++ {
					mean += k[i*n+j]
				}
			}
			mean /= n * (n - 1) / 2
			for i := range n {
				for j := i + 1; j < n; j++ {
					squares += (k[i*n+j] - mean) * (k[i*n+j] - mean)
				}
			}
			std := math.Sqrt(squares / (n * (n - 1) / 2))
			if math.Abs(p.OffDiagonalMean-mean) > 1e-9 || math.Abs(p.OffDiagonalStd-std) > 1e-7 {
				t.Errorf("%+v: mean %v and deviation %v, want %v and %v", o, p.OffDiagonalMean, p.OffDiagonalStd, mean, std)
			}
		}
		for _, want := range []string{"states", "product", "pairs", "a second", "mean", "|K_ii - 1|", "memory: states"} {
			if !strings.Contains(p.String(), want) {
				t.Errorf("the report lacks %q:\n%v", want, p)
			}
		}
		if r.K != nil {
			r.K.Free()
		}
	}
	// All alike, and all different.
	for scale, want := range map[float64]string{1e-4: "collapsed", 100: "concentrated"} {
		const qubits = 30
		c := quantum.NewCircuit(qubits)
		for i := range qubits {
			c.RY(i, quantum.Feature(i).Scale(scale))
		}
		v := make([]float64, 50*qubits)
		for i := range v {
			v[i] = 3 * s.rng.Float64()
		}
		r, err := quantum.Gram(context.Background(), c, gpk.FromSlice(v, 50, qubits), nil, quantum.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(r.Report.Warning, want) || !strings.Contains(r.Report.String(), "warning: ") {
			t.Errorf("scale %v: %q", scale, r.Report.Warning)
		}
	}
}
