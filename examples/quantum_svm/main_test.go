package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/interop/npy"
)

// TestRun runs the Go side, and classifies by the mean kernel with each class,
// which needs no scikit-learn: rings that no line separates.
func TestRun(t *testing.T) {
	devicetest.DefaultCPU(t)
	dir := t.TempDir()
	if err := run(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	read := func(name string, n int) []float64 {
		a, err := npy.ReadFile(filepath.Join(dir, name+".npy"))
		if err != nil {
			t.Fatal(err)
		}
		v, err := gpk.ToSlice[float64](a.Cast(gpk.Float64))
		if err != nil || len(v) != n {
			t.Fatalf("%s: %d elements, %v", name, len(v), err)
		}
		return v
	}
	const train, test = 400, 200
	labels, truth := read("y_train", train), read("y_test", test)
	best := 0
	for _, scale := range scales {
		k := read(fmt.Sprintf("k_train_%g", scale), train*train)
		for i := range train {
			if k[i*train+i] != 1 || k[i*train+(i+1)%train] != k[(i+1)%train*train+i] || math.IsNaN(k[i*train]) {
				t.Fatalf("scale %g: row %d is no row of a kernel", scale, i)
			}
		}
		cross, right := read(fmt.Sprintf("k_test_%g", scale), test*train), 0
		for i := range test {
			var sums [2]float64
			for j := range train {
				sums[int(labels[j])] += cross[i*train+j]
			}
			if int(truth[i]) == slices.Index(sums[:], slices.Max(sums[:])) {
				right++
			}
		}
		t.Logf("scale %g: %d of %d by the mean kernel alone", scale, right, test)
		best = max(best, right)
	}
	if best < 140 {
		t.Errorf("%d of %d right at best: the kernel does not see the rings", best, test)
	}
}
