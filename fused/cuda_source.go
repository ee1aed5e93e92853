package fused

import (
	"fmt"
	"strings"
	"sync"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// kernelName is the name of every kernel of this package.
const kernelName = "gpk_chain"

// compileOptions are the options of the kernels. As in the precompiled operations, the
// compiler contracts no product and sum that is not written as fma.
var compileOptions = []string{"--std=c++17", "--fmad=false", "-default-device"}

// cppTypes are the names of the element types in cutlass/src/element.cuh.
var cppTypes = func() (names [len(dtype.All) + 1]string) {
	for _, d := range dtype.All {
		switch {
		case d.IsInteger():
			names[d] = d.String() + "_t"
		default: // fp16 is f16
			names[d] = strings.Replace(d.Short(), "fp", "f", 1)
		}
	}
	names[dtype.Float32], names[dtype.Float64], names[dtype.Bool] = "float", "double", "boolean"
	return names
}()

// preambles are the headers at the beginning of a kernel's source, indexed by whether it
// has a reduction and whether it calls functions.cuh. They are the headers of the
// precompiled operations. The compiler sees no other headers.
var preambles = [2][2]func() string{
	{preambleOf("element.cuh", "arithmetic.cuh", "smooth.cuh", "ops_math.cuh", "chain.cuh"), preambleOf("element.cuh", "arithmetic.cuh", "smooth.cuh", "ops_math.cuh", "division.cuh", "functions.cuh", "chain.cuh")},
	{
		preambleOf("element.cuh", "arithmetic.cuh", "smooth.cuh", "ops_math.cuh", "reduce_sum.cuh", "reduce.cuh", "lines.cuh", "chain.cuh", "fold_sum.cuh", "fold.cuh"),
		preambleOf("element.cuh", "arithmetic.cuh", "smooth.cuh", "ops_math.cuh", "division.cuh", "functions.cuh", "reduce_sum.cuh", "reduce.cuh", "lines.cuh", "chain.cuh", "fold_sum.cuh", "fold.cuh"),
	},
}

func preambleOf(files ...string) func() string {
	return sync.OnceValue(func() string { return preamble(files...) })
}

// preambleFor returns the headers of a program's kernel.
func preambleFor(p *Program, f kernelVariant) string {
	folds, functions := 0, 0
	if f.folds() {
		folds = 1
	}
	for i := range p.Steps {
		if p.Steps[i].Op.IsFunction() {
			functions = 1
		}
	}
	return preambles[folds][functions]()
}

func preamble(files ...string) string {
	var b strings.Builder
	b.WriteString(`using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long;
using uint64_t = unsigned long;
#define INT64_MIN (-9223372036854775807L - 1)
#define INT64_MAX 9223372036854775807L
#define HUGE_VALF __int_as_float(0x7f800000)
template <class A, class B>
constexpr bool same_types = false;
template <class A>
constexpr bool same_types<A, A> = true;
#define __is_same(...) same_types<__VA_ARGS__>
`)
	for _, name := range files {
		text, err := cutlass.Sources.ReadFile("src/" + name)
		if err != nil {
			panic(err) // embedded at build time
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "#include") && !strings.HasPrefix(line, "#pragma once") {
				b.WriteString(line)
			}
		}
	}
	return b.String()
}

// code returns the kernel of a program as CUDA C++.
func code(p *Program, f kernelVariant) device.Code {
	return device.Code{Source: preambleFor(p, f) + kernel(p, f), Kernel: "gpk::" + kernelName, File: "chain.cu", Options: compileOptions}
}

// source writes the C++ source of a kernel.
type source struct {
	strings.Builder
	p *Program
	f kernelVariant
	u int
}

func (s *source) line(format string, args ...any) {
	fmt.Fprintf(s, format, args...)
	s.WriteByte('\n')
}

func kernel(p *Program, f kernelVariant) string {
	s := &source{p: p, f: f, u: unroll(p, f)}
	s.line("namespace gpk {")
	s.params()
	s.compute()
	switch f.traversal {
	case traverseFlat:
		s.flat()
	case traverseRows:
		if rowsTogether(p, f) {
			s.together()
		} else {
			s.rows()
		}
	case traverseMixed:
		s.mixed()
	case traverseStrided:
		s.strided()
	case traverseTiles:
		s.tiles()
	case traverseFold, traverseLines, traverseFoldColumns:
		s.fold()
	}
	s.line("}  // namespace gpk")
	return s.String()
}

func (s *source) typeOf(dt dtype.DType) string { return cppTypes[dt] }

func (s *source) out() string { return cppTypes[s.p.Steps[len(s.p.Steps)-1].DType] }

// params writes the kernel's parameters, in the order in which kernelLaunch packs them.
func (s *source) params() {
	s.line("constexpr int V = %d, U = %d;", s.f.width, s.u)
	s.line("struct Params {\n  void* dst;")
	if n := len(s.p.Leaves); n > 0 {
		s.line("  void const* leaf[%d];", n)
	}
	if n := len(s.p.Scalars); n > 0 {
		s.line("  Number scalar[%d];", n)
	}
	operands := 1 + len(s.p.Leaves)
	switch s.f.traversal {
	case traverseFlat:
		s.line("  int64_t vectors, tail;")
	case traverseFold, traverseLines, traverseFoldColumns:
		s.foldParams()
	case traverseRows:
		if rowsTogether(s.p, s.f) {
			s.line("  uint32_t rows, columns;")
		} else {
			s.line("  int64_t rows, groups, columns;")
		}
	case traverseMixed:
		s.line("  uint32_t vectors, tail;\n  Divider n;")
	case traverseStrided:
		s.line("  int64_t stride[%d][%d];\n  uint32_t items;\n  Divider n[%d];", operands, s.p.Rank, s.p.Rank)
	case traverseTiles:
		s.line("  int64_t stride[%d][%d];\n  uint32_t n0, n1;\n  Divider across, down;\n  Divider n[%d];", operands, s.p.Rank, s.p.Rank)
	}
	s.line("};")
}

// compute writes the function that computes the steps on N elements.
func (s *source) compute() {
	fmt.Fprintf(s, "template <int N>\n__device__ inline Some<%s, N> compute(Params const& p", s.out())
	for i, l := range s.p.Leaves {
		fmt.Fprintf(s, ", Some<%s, N> const& x%d", s.typeOf(l.DType), i)
	}
	s.line(") {")
	for i, dt := range s.p.Scalars {
		t := s.typeOf(dt)
		s.line("  Some<%s, N> const k%d = splat<%s, N>(p.scalar[%d].as<%s>());", t, i, t, i, t)
	}
	for i := range s.p.Steps {
		s.line("  Some<%s, N> const v%d = %s;", s.typeOf(s.p.Steps[i].DType), i, s.step(&s.p.Steps[i]))
	}
	s.line("  return v%d;\n}", len(s.p.Steps)-1)
}

func name(r Ref) string {
	return string("vxk"[r.Kind]) + fmt.Sprint(r.N)
}

// step returns the expression that computes a step.
func (s *source) step(step *Step) string {
	var a [3]string
	for i, r := range step.Args[:step.N] {
		a[i] = name(r)
	}
	from, to := s.p.TypeOf(step.Args[0]), step.DType
	d := s.typeOf(to)
	op := step.Op.String()
	switch {
	case step.Op == expr.None:
		return fmt.Sprintf("cast<%s>(%s)", d, a[0])
	case step.Op == expr.Real:
		return fmt.Sprintf("real_part<%s>(%s)", d, a[0])
	case step.Op == expr.Imag:
		return fmt.Sprintf("imaginary_part<%s>(%s)", d, a[0])
	case step.Op == expr.Where:
		return fmt.Sprintf("where(%s, %s, %s)", a[0], a[1], a[2])
	case step.Op == expr.Clamp:
		return fmt.Sprintf("clamp(%s, %s, %s)", a[0], a[1], a[2])
	case step.Op == expr.Conj && !from.IsComplex(), from.IsInteger() && (step.Op == expr.Floor || step.Op == expr.Ceil || step.Op == expr.Round):
		return a[0]
	case step.N == 1:
		return fmt.Sprintf("unary<%s, %s>(%s)", op, d, a[0])
	case from == dtype.Bool && to == dtype.Bool && !compares(step.Op):
		return fmt.Sprintf("truths(binary<%s, uint8_t>(bytes(%s), bytes(%s)))", op, a[0], a[1])
	case from == dtype.Bool:
		return fmt.Sprintf("binary<%s, boolean>(bytes(%s), bytes(%s))", op, a[0], a[1])
	}
	return fmt.Sprintf("binary<%s, %s>(%s, %s)", op, d, a[0], a[1])
}

func compares(op expr.Op) bool { return op >= expr.Eq && op <= expr.Ge }

// arguments returns the leaves as arguments of compute. index is appended to the names of
// those that are arrays of vectors.
func (s *source) arguments(index string, inLoop func(c Class) bool) string {
	var b strings.Builder
	for i, l := range s.p.Leaves {
		fmt.Fprintf(&b, ", x%d", i)
		if inLoop(l.Class) {
			b.WriteString(index)
		}
	}
	return b.String()
}

func (s *source) begin() { s.beginWith(kernelThreads, 0) }

// beginWith begins a kernel with blocks of `threads` threads. blocks is the minimum number of
// blocks per multiprocessor, or 0 for none.
func (s *source) beginWith(threads, blocks int) {
	bounds := fmt.Sprint(threads)
	if blocks > 0 {
		bounds += fmt.Sprint(", ", blocks)
	}
	s.line("extern \"C\" __global__ void __launch_bounds__(%s) %s(__grid_constant__ Params const p) {\n  begin();", bounds, kernelName)
}

// singles writes the loads of the leaves that are one element.
func (s *source) singles(indent, n string) {
	for i, l := range s.p.Leaves {
		if l.Class == Single {
			t := s.typeOf(l.DType)
			s.line("%sSome<%s, %s> const x%d = splat<%s, %s>(*static_cast<%s const*>(p.leaf[%d]));", indent, t, n, i, t, n, t, i)
		}
	}
}

func (s *source) flat() {
	inLoop := func(c Class) bool { return c != Single }
	s.begin()
	s.line("  int64_t const first = static_cast<int64_t>(blockIdx.x) * blockDim.x * U + threadIdx.x;")
	s.singles("  ", "V")
	for i, l := range s.p.Leaves {
		if inLoop(l.Class) {
			s.line("  Some<%s, V> x%d[U];", s.typeOf(l.DType), i)
		}
	}
	s.line("#pragma unroll\n  for (int u = 0; u < U; ++u) {\n    int64_t const i = first + u * blockDim.x;\n    if (i >= p.vectors) continue;")
	for i, l := range s.p.Leaves {
		if inLoop(l.Class) {
			s.line("    x%d[u] = load<%s, V>(p.leaf[%d], i * V);", i, s.typeOf(l.DType), i)
		}
	}
	s.line("  }\n#pragma unroll\n  for (int u = 0; u < U; ++u) {\n    int64_t const i = first + u * blockDim.x;\n    if (i >= p.vectors) continue;")
	s.line("    store<%s, V>(p.dst, i * V, compute<V>(p%s));\n  }", s.out(), s.arguments("[u]", inLoop))
	if s.f.width > 1 {
		s.line("  if (first < p.tail) {\n    int64_t const i = p.vectors * V + first;")
		s.singles("    ", "1")
		for i, l := range s.p.Leaves {
			if inLoop(l.Class) {
				t := s.typeOf(l.DType)
				s.line("    Some<%s, 1> const x%d = load<%s, 1>(p.leaf[%d], i);", t, i, t, i)
			}
		}
		s.line("    store<%s, 1>(p.dst, i, compute<1>(p%s));\n  }", s.out(), s.arguments("", inLoop))
	}
	s.line("}")
}
