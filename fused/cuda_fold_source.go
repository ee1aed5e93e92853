package fused

import (
	"fmt"
	"strings"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// foldedType returns the C++ type of the terms in reductions, and the function that
// converts the result of the steps to it, or "" for none. Bool is uint8_t except for sums
// and products.
func (s *source) foldedType() (name, of string) {
	dt := s.p.Steps[len(s.p.Steps)-1].DType
	if op := s.p.Reduction.Op; dt == dtype.Bool && op != expr.Sum && op != expr.Prod {
		return "uint8_t", "bytes"
	}
	return s.typeOf(dt), ""
}

var foldNames = map[expr.Op]string{
	expr.Max: "Extreme<%s, true>", expr.Min: "Extreme<%s, false>", expr.ArgMax: "ArgExtreme<%s, true>", expr.ArgMin: "ArgExtreme<%s, false>",
	expr.Any: "Truth<%s, false>", expr.All: "Truth<%s, true>", expr.Prod: "Product<%s>", expr.Var: "Variance<%s>",
}

// fixed reports whether a leaf has a single element for all terms of a reduction.
func (s *source) fixed(c Class) bool {
	return c == Single || c == Column && s.p.Reduction.Over == OverLast || c == Row && s.p.Reduction.Over == OverFirst
}

// fold writes the kernel of a reduction: the Source that computes its terms, and the
// function that reduces them.
func (s *source) fold() {
	t, of := s.foldedType()
	s.line("struct Source {\n  using T = %s;\n  static constexpr bool heavy = %t;\n  Params const& p;", t, heavy(s.p) > 0)
	s.foldBase()
	s.foldTerms(of)
	if isLine(s.p.Reduction.Op) {
		s.lineKernel()
		return
	}
	s.foldKernel(t)
}

// columns reports whether a thread folds columns.
func (s *source) columns() bool { return s.f.traversal == traverseFoldColumns }

// element returns the expression for an element of leaf i.
func (s *source) element(i int, at string) string {
	return fmt.Sprintf("static_cast<%s const*>(p.leaf[%d])[%s]", s.typeOf(s.p.Leaves[i].DType), i, at)
}

// foldBase writes the parts that are equal for all terms of a fold: the offsets of the
// leaves, and the elements of fixed leaves.
func (s *source) foldBase() {
	s.line("  template <int N>\n  struct Base {\n    int64_t at[%d];", len(s.p.Leaves))
	for i, l := range s.p.Leaves {
		if s.fixed(l.Class) {
			s.line("    Some<%s, N> x%d;", s.typeOf(l.DType), i)
		}
	}
	s.line("  };")
	s.offsets("kept", int(s.f.fold.kept))
	s.offsets("folded", int(s.f.fold.folded))
	s.line("  template <int N>\n  __device__ Base<N> base(int64_t fold) const {\n    Base<N> b = {};\n    kept(fold, b.at);")
	for i, l := range s.p.Leaves {
		lt := s.typeOf(l.DType)
		switch {
		case !s.fixed(l.Class):
		case l.Class != Row:
			s.line("    b.x%d = splat<%s, N>(%s);", i, lt, s.element(i, fmt.Sprintf("b.at[%d]", i)))
		case s.f.fold.whole:
			s.line("    b.x%d = load<%s, N>(p.leaf[%d], b.at[%d]);", i, lt, i, i)
		default:
			s.line("#pragma unroll\n    for (int e = 0; e < N; ++e) b.x%d.v[e] = %s;", i, s.element(i, fmt.Sprintf("b.at[%d] + e", i)))
		}
	}
	s.line("    return b;\n  }")
}

// foldTerms writes the function that computes N terms: one of each of N columns, or N of
// one row. The function named of, if not "", is applied to each term.
func (s *source) foldTerms(of string) {
	leaves := len(s.p.Leaves)
	if s.columns() {
		s.line("  template <int N>\n  __device__ Some<T, N> across(Base<N> const& b, int64_t fold, int64_t i) const {")
	} else {
		s.line("  template <int N>\n  __device__ Some<T, N> terms(Base<1> const& b, int64_t i, int64_t left) const {")
	}
	s.line("    int64_t at[%d];\n#pragma unroll\n    for (int j = 0; j < %d; ++j) at[j] = b.at[j];\n    folded(i, at);", leaves, leaves)
	for i, l := range s.p.Leaves {
		lt := s.typeOf(l.DType)
		switch {
		case !s.fixed(l.Class):
			s.line("    Some<%s, N> x%d = {};", lt, i)
		case s.columns():
			s.line("    Some<%s, N> const x%d = b.x%d;", lt, i, i)
		default:
			s.line("    Some<%s, N> const x%d = splat<%s, N>(b.x%d.v[0]);", lt, i, lt, i)
		}
	}
	switch {
	case !s.f.fold.whole:
		s.line("    {")
	case s.columns():
		s.line("    if (true) {")
		s.foldVectors("kept")
	default:
		s.line("    if (N > 1 && left >= N) {")
		s.foldVectors("folded")
	}
	s.foldElements()
	s.line("      }\n    }\n    return %s(compute<N>(p%s));\n  }\n};", of, s.arguments("", func(Class) bool { return false }))
}

// foldVectors writes the loads of vectors, along the kept or the folded dimensions.
func (s *source) foldVectors(along string) {
	for i, l := range s.p.Leaves {
		lt := s.typeOf(l.DType)
		one := fmt.Sprintf("splat<%s, N>(%s)", lt, s.element(i, fmt.Sprintf("at[%d]", i)))
		many := fmt.Sprintf("load<%s, N>(p.leaf[%d], at[%d])", lt, i, i)
		switch {
		case s.fixed(l.Class):
		case l.Class == Column:
			s.line("      x%d = %s;", i, one)
		case l.Class == Strided:
			s.line("      x%d = p.%s[%d][0] == 0 ? %s : %s;", i, along, i, one, many)
		default:
			s.line("      x%d = %s;", i, many)
		}
	}
	s.line("    } else {")
}

// foldElements writes the loads of single elements.
func (s *source) foldElements() {
	leaves := len(s.p.Leaves)
	s.line("#pragma unroll\n      for (int e = 0; e < N; ++e) {\n        int64_t to[%d] = {};", leaves)
	if s.columns() {
		s.line("        kept(fold + e, to);\n        folded(i, to);")
	} else {
		s.line("        if (e >= left) continue;\n#pragma unroll\n        for (int j = 0; j < %d; ++j) to[j] = b.at[j];\n        folded(i + e, to);", leaves)
	}
	for i, l := range s.p.Leaves {
		if !s.fixed(l.Class) {
			s.line("        x%d.v[e] = %s;", i, s.element(i, fmt.Sprintf("to[%d]", i)))
		}
	}
}

// lineKernel writes the kernel of softmax or a norm.
func (s *source) lineKernel() {
	f := s.f.fold
	block := lineBlock(int(f.team))
	blocks := 1024 / block
	if len(s.p.Leaves) > 1 { // a second operand needs registers
		blocks = max(2, 768/block)
	}
	s.beginWith(block, blocks)
	s.line("  line_rows<%d, %d, %d>(p.f, p.w, p.dst, Source{p});\n}", s.p.Reduction.Op, f.team, f.held)
}

// foldKernel writes the kernel of any other reduction, of terms of type t.
func (s *source) foldKernel(t string) {
	if isSum(s.p.Reduction.Op) {
		s.sumKernel()
		return
	}
	s.beginWith(kernelThreads, 0)
	s.line("  using P = %s;", s.foldName(t))
	s.line("  if (p.f.last != 0) return last_folds<P>(p.f, p.dst);")
	if s.columns() {
		s.line("  fold_columns<P, %d>(p.f, p.dst, Source{p});\n}", s.f.width)
	} else {
		s.line("  fold_rows<P, %t>(p.f, p.dst, Source{p});\n}", s.f.fold.vectors)
	}
}

// sumKernel writes the kernel of a sum.
func (s *source) sumKernel() {
	blocks := 2
	if !s.columns() && len(s.p.Leaves) == 1 {
		blocks = 3
	}
	s.beginWith(kernelThreads, blocks)
	s.line("  if (p.f.last != 0) return last_sums<Source::T>(p.f, p.dst);")
	switch rows := s.f.fold.rows; {
	case s.columns():
		batch := min(sumBatch, max(1, 2*sumBatch/int(s.f.width))) // a larger batch would need too many registers
		if heavy(s.p) > 0 {
			batch = 1
		}
		s.line("  sum_columns<%d, %d, %d>(p.f, p.dst, Source{p});\n}", s.f.width, rows, batch)
	case rows < chunkRows:
		s.line("  sum_short<%d>(p.f, p.dst, Source{p});\n}", rows)
	default:
		s.line("  sum_rows(p.f, p.dst, Source{p});\n}")
	}
}

// foldName returns the name of the reduction in reduce.cuh, on terms of type t.
func (s *source) foldName(t string) string {
	if s.f.fold.means {
		return fmt.Sprintf("Average<%s>", t)
	}
	return fmt.Sprintf(foldNames[s.p.Reduction.Op], t)
}

// offsets writes the function that adds the offsets of an index over n dimensions,
// innermost first.
func (s *source) offsets(name string, n int) {
	leaves := len(s.p.Leaves)
	s.line("  __device__ void %s(int64_t i, int64_t (&at)[%d]) const {", name, leaves)
	switch n {
	case 0:
	case 1:
		for j, l := range s.p.Leaves {
			switch {
			case name == "folded" && s.fixed(l.Class):
			case name == "folded" && s.f.traversal != traverseFoldColumns && s.f.width > 1 && (l.Class == Dense || l.Class == Row):
				s.line("    at[%d] += i;", j)
			default:
				s.line("    at[%d] += i * p.%s[%d][0];", j, name, j)
			}
		}
	default:
		s.line("    uint32_t rest = static_cast<uint32_t>(i), k;\n#pragma unroll\n    for (int d = 0; d < %d; ++d) {", n)
		s.line("      if (d + 1 < %d) {\n        rest = p.%s_n[d].divide(rest, &k);\n      } else {\n        k = rest;\n      }", n, name)
		s.line("#pragma unroll\n      for (int j = 0; j < %d; ++j) at[j] += static_cast<int64_t>(k) * p.%s[j][d];\n    }", leaves, name)
	}
	s.line("  }")
}

// foldParams writes the parameters that kernelLaunch.launchFoldPass packs for a reduction.
func (s *source) foldParams() {
	var b strings.Builder
	f := s.f.fold
	b.WriteString("  Folding f;\n")
	if s.f.traversal == traverseLines {
		b.WriteString("  Weights w;\n")
	}
	dims := [...]struct {
		name string
		n    uint8
	}{{"kept", f.kept}, {"folded", f.folded}}
	for _, d := range dims {
		if d.n > 0 {
			fmt.Fprintf(&b, "  int64_t %s[%d][%d];\n", d.name, len(s.p.Leaves), d.n)
		}
	}
	for _, d := range dims {
		if d.n > 1 {
			fmt.Fprintf(&b, "  Divider %s_n[%d];\n", d.name, d.n)
		}
	}
	s.WriteString(b.String())
}
