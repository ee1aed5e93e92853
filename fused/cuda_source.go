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

// traversal is the order in which a kernel visits the elements. The choice depends on the
// program, and on the call's lengths, strides and addresses. The results are the same.
type traversal uint8

const (
	// traverseFlat: every operand is dense or a single element. A thread computes
	// vectors.
	traverseFlat traversal = iota
	// traverseRows: the shape is [m, n], and rows are whole vectors. A thread stays in one
	// column of vectors. It reads an operand that has one row for all rows only once, and needs
	// no index divisions.
	traverseRows
	// traverseMixed: as traverseRows, but rows are not whole vectors. Vectors extend
	// across the ends of rows.
	traverseMixed
	// traverseStrided: any strides. If vectors have more than one element, the innermost
	// strides are 0 or 1.
	traverseStrided
	// traverseTiles: any strides, element by element in tiles of 32 x 32, for operands
	// that are transposed relative to the destination.
	traverseTiles
	// traverseFold: a reduction whose threads fold along a row of terms; see
	// cuda_fold.go.
	traverseFold
	// traverseLines: softmax or a norm along lines that threads hold in registers.
	traverseLines
	// traverseFoldColumns: a reduction whose threads fold neighbouring columns.
	traverseFoldColumns
)

var traversalNames = [...]string{"flat", "rows", "mixed", "strided", "tiles", "fold", "lines", "columns"}

// kernelVariant is a kernel of a program: its traversal, the number of elements of a
// vector, and the parameters of kernels with a reduction.
type kernelVariant struct {
	traversal traversal
	width     uint8
	fold      fold
}

// folds reports whether the kernel has a reduction, a softmax or a norm.
func (f kernelVariant) folds() bool { return f.traversal >= traverseFold }

// kernelThreads is the largest number of threads of a block.
const kernelThreads = 256

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
	{preambleOf("element.cuh", "arithmetic.cuh", "smooth.cuh", "ops_math.cuh", "chain.cuh"), preambleOf("element.cuh", "arithmetic.cuh", "smooth.cuh", "ops_math.cuh", "functions.cuh", "chain.cuh")},
	{
		preambleOf("element.cuh", "arithmetic.cuh", "smooth.cuh", "ops_math.cuh", "reduce_sum.cuh", "reduce.cuh", "lines.cuh", "chain.cuh", "fold_sum.cuh", "fold.cuh"),
		preambleOf("element.cuh", "arithmetic.cuh", "smooth.cuh", "ops_math.cuh", "functions.cuh", "reduce_sum.cuh", "reduce.cuh", "lines.cuh", "chain.cuh", "fold_sum.cuh", "fold.cuh"),
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

// width returns the number of elements of a vector: 16 bytes of the smallest operand that
// has an element for each element of the result, but at most 32 bytes of the largest.
func width(p *Program) int {
	least, most := p.Result().Size(), p.Result().Size()
	for _, l := range p.Leaves {
		if l.Class != Single && l.Class != Column {
			least, most = min(least, l.DType.Size()), max(most, l.DType.Size())
		}
	}
	return max(1, min(16/least, 32/most))
}

// heavy counts the operations with much arithmetic. Several vectors in each thread hide
// their latency.
func heavy(p *Program) int {
	n := 0
	for i := range p.Steps {
		if p.Steps[i].Op.IsSmooth() {
			n++
		}
	}
	return n
}

// unroll returns the number of vectors that a thread has in flight. If memory bandwidth is the
// limit, one vector of each operand is best (ops_unary.cuh).
func unroll(p *Program, f kernelVariant) int {
	heavy := heavy(p)
	wide := 0 // bytes of one vector of each operand
	for _, l := range p.Leaves {
		wide += int(f.width) * l.DType.Size()
	}
	switch f.traversal {
	case traverseTiles:
		return 4
	case traverseStrided, traverseMixed:
		if f.width == 1 {
			return 4
		}
		return 1
	case traverseRows:
		switch {
		case rowsTogether(p, f):
			return 8
		case heavy > 0 && f.width <= 4: // rowAfterRow: the rows are not held at once
			return 32
		case heavy > 0:
			return 16
		}
		if wide > 64 {
			return 2
		}
		return 4
	}
	if heavy > 0 && wide <= 64 {
		return max(1, min(8, 32/int(f.width)))
	}
	return 1
}

// rowsTogether reports whether a thread of a traversal over rows reads the vectors of all
// its rows before it computes. It does if there is much arithmetic on at most two operands
// of float32, because then the registers suffice. Blocks are small and end soon, as in
// ops_unary.cuh's unary_contiguous. (H200: GELU of x + row at 4.2 TB/s, the speed of a copy.)
func rowsTogether(p *Program, f kernelVariant) bool {
	if f.traversal != traverseRows || f.width != 4 || heavy(p) == 0 {
		return false
	}
	n := 0
	for _, l := range p.Leaves {
		if l.DType != dtype.Float32 {
			return false
		}
		if l.Class != Single {
			n++
		}
	}
	for i := range p.Steps {
		switch step := &p.Steps[i]; {
		case step.DType != dtype.Float32:
			return false
		case step.Op == expr.Pow, step.Op == expr.Sin, step.Op == expr.Cos, step.Op.IsFunction(): // these use float64 or more registers
			return false
		}
	}
	return n <= 2
}

// rowThreads returns the largest number of threads of a block of a traversal over rows, and
// the number of blocks that must fit a multiprocessor, 0 for no demand. If the steps read
// elements of rows more than once, eight blocks leave too few registers.
func rowThreads(p *Program, f kernelVariant) (threads, blocks int) {
	switch {
	case !rowsTogether(p, f):
		return kernelThreads, 0
	case reads(p) > 1:
		return 128, 7
	}
	return 128, 8
}

// reads counts the arguments of steps that are leaves with separate elements in each row.
func reads(p *Program) int {
	n := 0
	for i := range p.Steps {
		step := &p.Steps[i]
		for _, a := range step.Args[:step.N] {
			if a.Kind == ToLeaf && p.Leaves[a.N].Class != Single && p.Leaves[a.N].Class != Row {
				n++
			}
		}
	}
	return n
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

// params writes the kernel's parameters, in the order in which start packs them.
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

// beginWith begins a kernel of blocks of the given number of threads. blocks is the number of
// blocks that must fit a multiprocessor, 0 for no demand.
func (s *source) beginWith(threads, blocks int) {
	bounds := fmt.Sprint(threads)
	if blocks > 0 {
		bounds += fmt.Sprint(", ", blocks)
	}
	s.line("extern \"C\" __global__ void __launch_bounds__(%s) %s(__grid_constant__ Params const p) {\n  begin();", bounds, kernelName)
}

// singles writes the reads of the leaves that are one element.
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

func (s *source) rows() {
	inLoop := func(c Class) bool { return c != Single && c != Row }
	s.begin()
	s.line("  int64_t const c = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;\n  if (c >= p.columns) return;")
	s.singles("  ", "V")
	s.rowLeaves("c * V")
	// The kernel computes the addresses of the first row, and adds a step for each further row.
	s.line("  int64_t const step = blockDim.y * p.columns * V;")
	s.line("  for (int64_t g = blockIdx.y; g < p.groups; g += gridDim.y) {\n    int64_t const first = g * blockDim.y * U + threadIdx.y;")
	s.line("    int64_t const at = (first * p.columns + c) * V;")
	s.line("    int const left = static_cast<int>(p.rows - first < U * blockDim.y ? p.rows - first : U * blockDim.y);")
	s.places("    ")
	if s.u > 8 {
		s.rowAfterRow(inLoop)
		return
	}
	for i, l := range s.p.Leaves {
		if inLoop(l.Class) {
			s.line("    Some<%s, V> x%d[U];", s.typeOf(l.DType), i)
		}
	}
	s.line("#pragma unroll\n    for (int u = 0; u < U; ++u) {\n      if (u * static_cast<int>(blockDim.y) >= left) continue;")
	for i, l := range s.p.Leaves {
		t := s.typeOf(l.DType)
		switch l.Class {
		case Dense:
			s.line("      x%d[u] = load<%s, V>(q%d, u * step);", i, t, i)
		case Column:
			s.line("      x%d[u] = splat<%s, V>(q%d[u * blockDim.y]);", i, t, i)
		}
	}
	s.line("    }\n#pragma unroll\n    for (int u = 0; u < U; ++u) {\n      if (u * static_cast<int>(blockDim.y) >= left) continue;")
	s.line("      store<%s, V>(to, u * step, compute<V>(p%s));\n    }\n  }\n}", s.out(), s.arguments("[u]", inLoop))
}

// rowLeaves writes the reads, from column at on, of the leaves that have one row for all rows.
func (s *source) rowLeaves(at string) {
	for i, l := range s.p.Leaves {
		if l.Class == Row {
			t := s.typeOf(l.DType)
			s.line("  Some<%s, V> const x%d = load<%s, V>(p.leaf[%d], %s);", t, i, t, i, at)
		}
	}
}

// places writes the addresses of a thread's first row: at index `at` for operands of the
// result's shape, at index `first` for operands with one element for each row.
func (s *source) places(indent string) {
	s.line("%s%s* to = static_cast<%s*>(p.dst) + at;", indent, s.out(), s.out())
	for i, l := range s.p.Leaves {
		t := s.typeOf(l.DType)
		switch l.Class {
		case Dense:
			s.line("%s%s const* q%d = static_cast<%s const*>(p.leaf[%d]) + at;", indent, t, i, t, i)
		case Column:
			s.line("%s%s const* q%d = static_cast<%s const*>(p.leaf[%d]) + first;", indent, t, i, t, i)
		}
	}
}

// together writes the kernel that rowsTogether selects. A thread computes one group of rows. An
// address costs one multiplication: it is the address of the first row plus a 32-bit product.
func (s *source) together() {
	inLoop := func(c Class) bool { return c != Single && c != Row }
	s.beginWith(rowThreads(s.p, s.f))
	s.line("  uint32_t const c = blockIdx.x * blockDim.x + threadIdx.x;\n  if (c >= p.columns) return;")
	s.singles("  ", "V")
	s.rowLeaves("static_cast<int64_t>(c) * V")
	s.line("  uint32_t const first = blockIdx.y * blockDim.y * U + threadIdx.y, step = blockDim.y * p.columns;")
	s.line("  int64_t const at = (static_cast<int64_t>(first) * p.columns + c) * V;")
	s.places("  ")
	row := func(index string) {
		for i, l := range s.p.Leaves {
			t := s.typeOf(l.DType)
			switch l.Class {
			case Dense:
				s.line("      x%d%s = load<%s, V>(q%d, static_cast<int64_t>(step) * (u * V));", i, index, t, i)
			case Column:
				s.line("      x%d%s = splat<%s, V>(q%d[u * blockDim.y]);", i, index, t, i)
			}
		}
	}
	declare := func(size string) {
		for i, l := range s.p.Leaves {
			if inLoop(l.Class) {
				s.line("    Some<%s, V> x%d%s;", s.typeOf(l.DType), i, size)
			}
		}
	}
	s.line("  if (first + (U - 1) * blockDim.y < p.rows) {")
	declare("[U]")
	s.line("#pragma unroll\n    for (int u = 0; u < U; ++u) {")
	row("[u]")
	s.line("    }\n#pragma unroll\n    for (int u = 0; u < U; ++u) {")
	s.line("      store<%s, V>(to, static_cast<int64_t>(step) * (u * V), compute<V>(p%s));\n    }\n    return;\n  }", s.out(), s.arguments("[u]", inLoop))
	s.line("#pragma unroll 1\n  for (uint32_t u = 0; first + u * blockDim.y < p.rows; ++u) {")
	declare("")
	row("")
	s.line("      store<%s, V>(to, static_cast<int64_t>(step) * (u * V), compute<V>(p%s));\n  }\n}", s.out(), s.arguments("", inLoop))
}

// rowAfterRow writes the loop over rows for chains with much arithmetic. A thread reads the
// vector of the next row before it computes that of this one. The code is short and needs
// few registers, so that many threads can hide each other's latency.
func (s *source) rowAfterRow(inLoop func(Class) bool) {
	read := func() {
		for i, l := range s.p.Leaves {
			t := s.typeOf(l.DType)
			switch l.Class {
			case Dense:
				s.line("      next%d = load<%s, V>(q%d, 0), q%d += step;", i, t, i, i)
			case Column:
				s.line("      next%d = splat<%s, V>(*q%d), q%d += blockDim.y;", i, t, i, i)
			}
		}
	}
	for i, l := range s.p.Leaves {
		if inLoop(l.Class) {
			s.line("    Some<%s, V> next%d;", s.typeOf(l.DType), i)
		}
	}
	s.line("    if (left > 0) {")
	read()
	// Measured on an H200: unrolled four times, GELU of 4 floats runs 1 % faster, and
	// GELU of 8 halves 10 % slower.
	times := 1
	if s.f.width <= 4 {
		times = 4
	}
	s.line("    }\n#pragma unroll %d\n    for (int k = left; k > 0; k -= blockDim.y) {", times)
	for i, l := range s.p.Leaves {
		if inLoop(l.Class) {
			s.line("      Some<%s, V> const x%d = next%d;", s.typeOf(l.DType), i, i)
		}
	}
	s.line("      if (k > static_cast<int>(blockDim.y)) {")
	read()
	s.line("      }\n      store<%s, V>(to, 0, compute<V>(p%s));\n      to += step;\n    }\n  }\n}", s.out(), s.arguments("", inLoop))
}

func (s *source) mixed() {
	all := func(Class) bool { return true }
	s.line("template <int N>\n__device__ inline void at(Params const& p, uint32_t i) {\n  uint32_t c, r = p.n.divide(i, &c);")
	s.singles("  ", "N")
	for i, l := range s.p.Leaves {
		t := s.typeOf(l.DType)
		switch l.Class {
		case Dense:
			s.line("  Some<%s, N> const x%d = load<%s, N>(p.leaf[%d], i);", t, i, t, i)
		case Row, Column:
			s.line("  Some<%s, N> x%d;", t, i)
		}
	}
	s.line("#pragma unroll\n  for (int e = 0; e < N; ++e) {")
	for i, l := range s.p.Leaves {
		t := s.typeOf(l.DType)
		switch l.Class {
		case Row:
			s.line("    x%d.v[e] = static_cast<%s const*>(p.leaf[%d])[c];", i, t, i)
		case Column:
			s.line("    x%d.v[e] = static_cast<%s const*>(p.leaf[%d])[r];", i, t, i)
		}
	}
	s.line("    if (e + 1 < N && ++c == p.n.d) c = 0, ++r;\n  }")
	s.line("  store<%s, N>(p.dst, i, compute<N>(p%s));\n}", s.out(), s.arguments("", all))
	s.begin()
	s.line("  uint32_t const first = blockIdx.x * blockDim.x * U + threadIdx.x;")
	s.line("#pragma unroll\n  for (int u = 0; u < U; ++u) {\n    uint32_t const i = first + u * blockDim.x;\n    if (i < p.vectors) at<V>(p, i * V);\n  }")
	s.line("  if (first < p.tail) at<1>(p, p.vectors * V + first);\n}")
}

// one writes the function that computes a vector of the result. The operands begin at the
// offsets off, of which the first is the destination's.
func (s *source) one() {
	s.line("template <int N>\n__device__ inline void at(Params const& p, int64_t const (&off)[%d]) {", 1+len(s.p.Leaves))
	for i, l := range s.p.Leaves {
		t := s.typeOf(l.DType)
		switch {
		case l.Class == Single:
		case s.f.width == 1:
			s.line("  Some<%s, N> const x%d = load<%s, N>(p.leaf[%d], off[%d]);", t, i, t, i, i+1)
		default:
			s.line("  Some<%s, N> const x%d = p.stride[%d][0] == 0 ? splat<%s, N>(static_cast<%s const*>(p.leaf[%d])[off[%d]]) : load<%s, N>(p.leaf[%d], off[%d]);",
				t, i, i+1, t, t, i, i+1, t, i, i+1)
		}
	}
	s.singles("  ", "N")
	s.line("  store<%s, N>(p.dst, off[0], compute<N>(p%s));\n}", s.out(), s.arguments("", func(Class) bool { return false }))
}

func (s *source) strided() {
	operands := 1 + len(s.p.Leaves)
	s.one()
	s.begin()
	s.line("  uint32_t const first = blockIdx.x * blockDim.x * U + threadIdx.x;\n#pragma unroll\n  for (int u = 0; u < U; ++u) {")
	s.line("    uint32_t rest = first + u * blockDim.x, k;\n    if (rest >= p.items) continue;\n    int64_t off[%d] = {};", operands)
	s.line("#pragma unroll\n    for (int d = 0; d < %d; ++d) {", s.p.Rank)
	s.line("      if (d + 1 < %d) {\n        rest = p.n[d].divide(rest, &k);\n      } else {\n        k = rest;\n      }", s.p.Rank)
	s.line("      int64_t const step = d == 0 ? static_cast<int64_t>(k) * V : k;")
	s.line("#pragma unroll\n      for (int j = 0; j < %d; ++j) off[j] += step * p.stride[j][d];\n    }\n    at<V>(p, off);\n  }\n}", operands)
}

// tiles writes the kernel for operands that are transposed relative to the destination. A
// warp computes a row of a tile. Of a transposed operand it reads cache lines whose other
// elements are those of the tile's other rows.
func (s *source) tiles() {
	operands := 1 + len(s.p.Leaves)
	s.one()
	s.begin()
	s.line("  uint32_t c, r;\n  uint32_t rest = p.down.divide(p.across.divide(blockIdx.x, &c), &r), k;\n  int64_t base[%d] = {};", operands)
	s.line("#pragma unroll\n  for (int d = 2; d < %d; ++d) {\n    rest = p.n[d].divide(rest, &k);", s.p.Rank)
	s.line("#pragma unroll\n    for (int j = 0; j < %d; ++j) base[j] += k * p.stride[j][d];\n  }", operands)
	s.line("#pragma unroll\n  for (int u = 0; u < U; ++u) {\n    uint32_t const id = u * blockDim.x + threadIdx.x;")
	s.line("    uint32_t const i0 = (c << 5) + (id & 31), i1 = (r << 5) + (id >> 5);\n    if (i0 >= p.n0 || i1 >= p.n1) continue;")
	s.line("    int64_t off[%d];\n#pragma unroll\n    for (int j = 0; j < %d; ++j) off[j] = base[j] + i0 * p.stride[j][0] + i1 * p.stride[j][1];\n    at<1>(p, off);\n  }\n}", operands, operands)
}
