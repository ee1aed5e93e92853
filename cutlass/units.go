package cutlass

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gpk-go/gpk/dtype"
)

// tokens has the name of an element type in kernel names and in C++.
var tokens = map[dtype.DType]struct{ name, cpp string }{
	dtype.Float32: {"f32", "float"}, dtype.Float64: {"f64", "double"},
	dtype.Float16: {"f16", "fp16"}, dtype.BFloat16: {"bf16", "bf16"},
	dtype.Int8: {"i8", "int8_t"}, dtype.Uint8: {"u8", "uint8_t"},
	dtype.Int32: {"i32", "int32_t"}, dtype.Int64: {"i64", "int64_t"},
	dtype.Complex64: {"c64", "c64"}, dtype.Complex128: {"c128", "c128"},
}

// halves are the 16-bit floating-point types, in the order of their kernels.
var halves = [...]dtype.DType{dtype.BFloat16, dtype.Float16}

// Units lists the translation units: first the generated ones in the order of Kernels, then
// every .cu file of src by name, with the kernels that name it. A file whose name ends in
// _sm90 is for SM 90 only.
//
// A builder compiles those for a requested target (SM 90 for 90a; SM 80 for 80, 86 and 89;
// SM 0 once, for all of them), each separately, as position-independent C++17 with hidden
// visibility, -O3, -DNDEBUG (without which CUTLASS prints and asserts) and
// --expt-relaxed-constexpr. It adds RegistrySource of just those units and links all with a
// static cudart. With a static libstdc++ too, the library needs only libc. One unit takes
// nvcc up to 5 GB and 2 minutes.
func Units() []Unit {
	var us []Unit
	index := make(map[string]int)
	for _, f := range sourceFiles() {
		if path.Ext(f) == ".cu" {
			name := strings.TrimSuffix(f, ".cu")
			index[name] = len(us)
			u := Unit{Name: name, File: f}
			if strings.HasSuffix(name, "_sm90") {
				u.SM = 90
			}
			us = append(us, u)
		}
	}
	files := len(us)
	sm := make(map[string]int)
	for _, f := range families() {
		sm[f.common.Unit] = f.unitSM
	}
	for _, k := range Kernels() {
		i, ok := index[k.Unit]
		if !ok {
			i = len(us)
			index[k.Unit] = i
			us = append(us, Unit{Name: k.Unit, SM: sm[k.Unit]})
		}
		us[i].Kernels = append(us[i].Kernels, k)
	}
	return slices.Concat(us[files:], us[:files])
}

// WGMMA reports whether all of the unit's kernels use wgmma and none is in the manifest.
func (u Unit) WGMMA() bool { return u.Name == "attention_sm90" }

// Source returns the text of the unit's .cu file, either generated or embedded. It is
// compiled with src and CUTLASS's include folders on the include path.
func (u Unit) Source() string {
	if u.Companion != "" {
		return u.text
	}
	if u.File != "" {
		text, err := Sources.ReadFile("src/" + u.File)
		if err != nil {
			panic(err) // Units lists only embedded files
		}
		return string(text)
	}
	var b strings.Builder
	var headers []string
	for _, k := range u.Kernels {
		if h := k.header(); !slices.Contains(headers, h) {
			headers = append(headers, h)
			fmt.Fprintf(&b, "#include %q\n", h)
		}
	}
	for _, k := range u.Kernels {
		b.WriteString(k.instance())
	}
	return b.String()
}

// header returns the file with the macro that instantiates the kernel.
func (k Kernel) header() string {
	switch {
	case k.planes() > 0:
		return "gemm_scaled_sm90.cuh"
	case k.throughRegisters():
		return "gemm_tf32_sm90.cuh"
	case k.Direct:
		return "gemm_direct_sm90.cuh"
	case k.Large:
		return "gemm_large_sm90.cuh"
	case k.Schedule == "streamk":
		return "gemm_streamk_sm90.cuh"
	case k.wgmma():
		return "gemm_sm90.cuh"
	case k.Schedule == "ring":
		return "gemm_f64_sm90.cuh"
	}
	return "gemm_sm80.cuh"
}

// throughRegisters reports whether wgmma reads its left operand, B, from registers.
func (k Kernel) throughRegisters() bool { return k.wgmma() && k.Math == "tf32" && k.Swapped }

// instance returns the line that instantiates a generated unit's kernel.
func (k Kernel) instance() string {
	major := [...]string{RowMajor: "Row", ColMajor: "Col"}
	if k.planes() > 0 {
		columns := 1
		if k.AbsSquare {
			columns = 2
		}
		return fmt.Sprintf("GPK_SCALED90(%s, %d, %d, %s, %s, %d, %d, %d, %d, %d, %s)\n", k.Name,
			k.planes(), columns, major[k.MajorA], major[k.MajorB],
			k.Tile[0], k.Tile[1], k.Tile[2], k.Cluster[0], k.Cluster[1], k.Schedule)
	}
	if k.Large {
		return fmt.Sprintf("GPK_LARGE90(%s, %s, %s, %t, %t, %d, %d, %d, %t)\n", k.Name,
			tokens[k.A].cpp, tokens[k.Out].cpp, k.MajorA == RowMajor, k.MajorB == RowMajor,
			k.Tile[0], k.Tile[1], k.Cluster[1], k.Schedule == "pingpong")
	}
	if k.wgmma() {
		schedule := k.Schedule
		if k.CTAs > 0 {
			schedule += fmt.Sprintf("<%d>", k.CTAs)
		}
		if k.throughRegisters() {
			schedule = "wide<" + schedule + ">"
		}
		if k.Swapped {
			schedule = "swapped<" + schedule + ">"
		}
		macro := "GPK_GEMM90"
		switch {
		case k.Direct:
			macro = "GPK_DIRECT90"
		case k.Schedule == "streamk":
			macro = "GPK_STREAMK90"
		}
		return fmt.Sprintf("%s(%s, %s, %s, %s, %s, %d, %d, %d, %d, %d, %s)\n", macro, k.Name,
			tokens[k.A].cpp, tokens[k.Out].cpp, major[k.MajorA], major[k.MajorB],
			k.Tile[0], k.Tile[1], k.Tile[2], k.Cluster[0], k.Cluster[1], schedule)
	}
	if k.Schedule == "ring" {
		return fmt.Sprintf("GPK_DMMA90(%s, %t, %t, %d, %d, %d, %d, %d, %d)\n", k.Name,
			k.MajorA == RowMajor, k.MajorB == RowMajor, k.Tile[0], k.Tile[1], k.Warp[0], k.Warp[1], k.Parts, k.Stages)
	}
	math := k.Math
	switch {
	case k.A == dtype.Complex64 && k.Math == "tf32":
		math = "c64_tf32"
	case k.SM == 90:
		math += "_sm90"
	}
	return fmt.Sprintf("GPK_GEMM80(%s, %s, %s, %s, %s, %d, %d, %d, %d, %d, %d)\n", k.Name,
		math, tokens[k.Out].cpp, major[k.MajorA], major[k.MajorB],
		k.Tile[0], k.Tile[1], k.Tile[2], k.Warp[0], k.Warp[1], k.Stages)
}

// planes returns the number of float16 planes per operand that a scaled or split kernel
// reads; 0 for other kernels.
func (k Kernel) planes() int {
	switch {
	case k.Split:
		return 2
	case k.Scaled:
		return 1
	}
	return 0
}

// RegistrySource returns the C++ text with gpk_gemm and the version entry points for a
// library of these units. Kernel ids follow the order of their kernels. It needs src and
// CUDA's headers on the include path and -DGPK_KERNEL_SET=HASH, without quotes. It has no
// device code, so that a plain C++17 compiler or nvcc can compile it.
func RegistrySource(units []Unit) string {
	var declared, listed strings.Builder
	n := 0
	for _, u := range units {
		for _, k := range u.Kernels {
			fmt.Fprintf(&declared, "extern Entry const entry_%s;\n", k.Name)
			fmt.Fprintf(&listed, "    &entry_%s,\n", k.Name)
			n++
		}
	}
	return fmt.Sprintf(`#include "registry.cuh"

namespace gpk {
%s
static constexpr int n_entries = %d;
static Entry const* const entries[n_entries + 1] = {
%s    nullptr};
}  // namespace gpk

#include "registry_impl.cuh"
`, declared.String(), n, listed.String())
}
