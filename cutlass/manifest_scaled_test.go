package cutlass

import (
	"strings"
	"testing"

	"github.com/gpk-go/gpk/dtype"
)

// Kernels of float16 planes read float16 and write float32. They read one plane or two
// planes. A kernel with a squared modulus has no bias.
func TestScaledKernelsAreWellFormed(t *testing.T) {
	for _, k := range Kernels() {
		if k.Scaled && k.Split {
			t.Errorf("%s: scaled and split", k.Name)
		}
		if k.planes() == 0 {
			if strings.HasPrefix(k.Math, "fp16x") {
				t.Errorf("%s: %s without planes", k.Name, k.Math)
			}
			continue
		}
		if k.A != dtype.Float16 || k.B != dtype.Float16 || k.Out != dtype.Float32 {
			t.Errorf("%s: %v x %v -> %v", k.Name, k.A, k.B, k.Out)
		}
		if want := map[int]string{1: "fp16", 2: "fp16x3"}[k.planes()]; k.Math != want {
			t.Errorf("%s: math %s for %d planes", k.Name, k.Math, k.planes())
		}
		if k.Epilogue == k.AbsSquare {
			t.Errorf("%s: bias and activation %v, squared modulus %v", k.Name, k.Epilogue, k.AbsSquare)
		}
	}
}

// A plane has the major of the operand that it was made from, so every pair of majors needs
// a kernel. A squared modulus is computed only if k is contiguous in both operands.
func TestScaledKernelsCoverTheMajors(t *testing.T) {
	type key struct {
		planes int
		square bool
		majors [2]Major
	}
	tiles := make(map[key]int)
	for _, k := range Kernels() {
		if k.planes() > 0 {
			tiles[key{k.planes(), k.AbsSquare, [2]Major{k.MajorA, k.MajorB}}]++
		}
	}
	for planes := 1; planes <= 2; planes++ {
		for _, m := range allMajors {
			if tiles[key{planes, false, m}] < 3 {
				t.Errorf("%d planes, majors %v: %d tiles", planes, m, tiles[key{planes, false, m}])
			}
		}
		if tiles[key{planes, true, kMajors[0]}] < 3 {
			t.Errorf("%d planes, squared modulus: %d tiles", planes, tiles[key{planes, true, kMajors[0]}])
		}
	}
}

// A unit of kernels of float16 planes includes their header. It states how many planes each
// kernel reads and how many columns of the product make one column of D.
func TestScaledUnitsNamePlanesAndColumns(t *testing.T) {
	for _, u := range Units() {
		source := u.Source()
		for _, k := range u.Kernels {
			if k.planes() == 0 || u.File != "" {
				continue
			}
			if !strings.HasPrefix(source, "#include \"gemm_scaled_sm90.cuh\"\n") {
				t.Errorf("unit %s of %s: %.40q", u.Name, k.Name, source)
			}
			args := map[[2]bool]string{
				{false, false}: "1, 1, ", {false, true}: "1, 2, ", {true, false}: "2, 1, ", {true, true}: "2, 2, ",
			}[[2]bool{k.Split, k.AbsSquare}]
			if want := "GPK_SCALED90(" + k.Name + ", " + args; !strings.Contains(source, want) {
				t.Errorf("unit %s lacks %q", u.Name, want)
			}
		}
	}
}
