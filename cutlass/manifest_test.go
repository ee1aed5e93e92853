package cutlass

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/dtype"
)

// The limits that the manifest keeps, so that a cold build stays short.
const (
	maxKernelsPerUnit = 8
	maxUnitsSM90      = 24
)

func TestKernelsAreWellFormed(t *testing.T) {
	identifier := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	seen := make(map[string]bool)
	for _, k := range Kernels() {
		if !identifier.MatchString(k.Name) {
			t.Errorf("%q is no C identifier", k.Name)
		}
		if seen[k.Name] {
			t.Errorf("%s is listed twice", k.Name)
		}
		seen[k.Name] = true
		if k.SM != 80 && k.SM != 90 {
			t.Errorf("%s: SM %d", k.Name, k.SM)
		}
		for _, d := range []dtype.DType{k.A, k.B, k.Out} {
			if tokens[d].cpp == "" {
				t.Errorf("%s: no C++ type for %v", k.Name, d)
			}
		}
		for _, n := range []int{k.Tile[0], k.Tile[1], k.Tile[2], k.Cluster[0], k.Cluster[1], k.AlignA, k.AlignB, k.AlignOut, k.MultipleK} {
			if n < 1 {
				t.Errorf("%s: a tile, cluster, alignment or multiple below 1: %+v", k.Name, k)
			}
		}
		if k.AlignA%k.A.Size() != 0 || k.AlignB%k.B.Size() != 0 || k.AlignOut%k.Out.Size() != 0 {
			t.Errorf("%s: an alignment splits an element: %+v", k.Name, k)
		}
		if k.wgmma() {
			align := 16
			if k.Direct {
				align = 2
			}
			if k.SM != 90 || k.MultipleK != 1 || k.AlignOut != align {
				t.Errorf("%s: not what TMA takes: %+v", k.Name, k)
			}
			if k.Math == "tf32" && (k.MajorA != RowMajor || (k.MajorB == RowMajor) != k.Swapped) {
				t.Errorf("%s: wgmma reads TF32 with k contiguous, or its left operand from registers", k.Name)
			}
			if (k.Schedule == "single") != (k.CTAs > 0) {
				t.Errorf("%s: %d CTAs of a multiprocessor", k.Name, k.CTAs)
			}
		}
	}
}

// Every type that has a product has a kernel in each pair of majors, except
// where the hardware takes one only.
func TestKernelsCoverTheTypes(t *testing.T) {
	type key struct {
		sm             int
		a, out         dtype.DType
		majorA, majorB Major
	}
	have := make(map[key]bool)
	for _, k := range Kernels() {
		for sm := k.SM; sm <= 90; sm += 10 {
			have[key{sm, k.A, k.Out, k.MajorA, k.MajorB}] = true
		}
	}
	for _, sm := range []int{80, 90} {
		for _, p := range [][2]dtype.DType{
			{dtype.BFloat16, dtype.BFloat16},
			{dtype.BFloat16, dtype.Float32},
			{dtype.Float16, dtype.Float16},
			{dtype.Float16, dtype.Float32},
			{dtype.Float32, dtype.Float32},
			{dtype.Float64, dtype.Float64},
			{dtype.Complex64, dtype.Complex64},
			{dtype.Complex128, dtype.Complex128},
			{dtype.Int8, dtype.Int32},
			{dtype.Uint8, dtype.Int32},
			{dtype.Int32, dtype.Int32},
			{dtype.Int64, dtype.Int64},
		} {
			for _, m := range allMajors {
				if !have[key{sm, p[0], p[1], m[0], m[1]}] {
					t.Errorf("sm_%d: no kernel for %v x %v -> %v, majors %v", sm, p[0], p[0], p[1], m)
				}
			}
		}
	}
}

func TestUnitsHoldEveryKernelOnce(t *testing.T) {
	where := make(map[string]string)
	sm90 := 0
	for _, u := range Units() {
		if u.File == "" && len(u.Kernels) > maxKernelsPerUnit {
			t.Errorf("unit %s holds %d kernels, at most %d", u.Name, len(u.Kernels), maxKernelsPerUnit)
		}
		rings := !slices.ContainsFunc(u.Kernels, func(k Kernel) bool { return k.Schedule != "ring" }) // without CUTLASS: a second each
		if u.File == "" && u.SM != 80 && !rings {
			sm90++
		}
		source := u.Source()
		for _, k := range u.Kernels {
			if where[k.Name] != "" || k.Unit != u.Name {
				t.Errorf("kernel %s of unit %s is in %s and in %q", k.Name, k.Unit, u.Name, where[k.Name])
			}
			where[k.Name] = u.Name
			if u.File == "" && strings.Count(source, "("+k.Name+",") != 1 {
				t.Errorf("unit %s does not instantiate %s once", u.Name, k.Name)
			}
		}
	}
	if sm90 > maxUnitsSM90 {
		t.Errorf("%d CUTLASS units for sm_90a, at most %d", sm90, maxUnitsSM90)
	}
	for _, k := range Kernels() {
		if where[k.Name] == "" {
			t.Errorf("no unit holds %s", k.Name)
		}
	}
}

// Kernel ids are the order of the units' kernels: the dispatcher may count on
// gpk_gemm_name alone, but a library of all units lists what Kernels lists.
func TestRegistryListsTheKernelsInOrder(t *testing.T) {
	text := RegistrySource(Units())
	at := 0
	for _, k := range Kernels() {
		if !strings.Contains(text, "extern Entry const entry_"+k.Name+";") {
			t.Errorf("%s is not declared", k.Name)
		}
		i := strings.Index(text[at:], "&entry_"+k.Name+",")
		if i < 0 {
			t.Fatalf("%s is not listed, or before its predecessor", k.Name)
		}
		at += i + 1
	}
	if empty := RegistrySource(nil); !strings.Contains(empty, "n_entries = 0;") {
		t.Errorf("a registry of no units: %s", empty)
	}
}

func TestKernelSetHash(t *testing.T) {
	h := KernelSetHash()
	if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(h) {
		t.Errorf("hash %q", h)
	}
	if again := KernelSetHash(); again != h {
		t.Errorf("hash %q, then %q", h, again)
	}
}
