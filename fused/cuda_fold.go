package fused

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// foldRows is from how many rows on a reduction along rows is one kernel with the
// steps before it: a row has a warp, and fewer leave multiprocessors idle.
const foldRows = 1024

// folds reports whether steps and reduction are one kernel, which walks the rows
// of [m, n]; both kernels add up in the same order.
func (c *Call) folds() bool {
	p := c.Program
	if p.Reduction.Over != OverLast || p.Reduction.Op != expr.Sum && p.Reduction.Op != expr.Mean || c.Shape[0] < foldRows {
		return false
	}
	switch p.Steps[len(p.Steps)-1].DType {
	case dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16:
	default:
		return false
	}
	for _, l := range p.Leaves {
		if l.Class == Strided {
			return false
		}
	}
	return true
}

// One reports whether the call is one kernel once that is compiled.
func (c *Call) One() bool { return c.Program.Reduction.Op == expr.None || c.folds() }

// foldForm is the form of a kernel that folds rows: vectors of 16 bytes of the last
// step, which the tree of additions has, are read whole or element by element.
func foldForm(whole bool) form {
	if whole {
		return form{walkFold, 2}
	}
	return form{walkFold, 1}
}

// chooseFold is choose for a call that folds.
func (w *start) chooseFold() {
	n, v := w.call.Shape[1], 16/w.p.Steps[len(w.p.Steps)-1].DType.Size()
	whole := n%v == 0
	for i := range w.call.Leaves {
		o, leaf := &w.call.Leaves[i], w.p.Leaves[i]
		if size := leaf.DType.Size(); leaf.Class == Dense || leaf.Class == Row {
			whole = whole && (o.Buffer.Addr()+uint64(o.Offset*size))%uint64(min(16, v*size)) == 0
		}
	}
	w.form = foldForm(whole)
}

// fold launches a warp for each row.
func (w *start) fold(stream uint64) error {
	at := w.addresses()
	w.begin(&at)
	m, n := w.call.Shape[0], w.call.Shape[1]
	w.long(m)
	w.long(n)
	over := 0
	if w.p.Reduction.Op == expr.Mean {
		over = n
	}
	w.long(over)
	const warps = kernelThreads / 32
	return w.grid(stream, [3]int{ceil(m, warps), 1, 1}, [3]int{kernelThreads, 1, 1})
}

// runFold starts the one kernel of steps and reduction.
func (k *kernels) runFold(s *device.Stream, c *Call) (bool, error) {
	return k.launch(s, c.Program, c, c.Dst, (*start).chooseFold)
}

// fold writes the kernel that folds rows.
func (s *source) fold() {
	last := s.p.Steps[len(s.p.Steps)-1].DType
	t := s.typeOf(last)
	s.begin()
	s.line("  using T = %s;\n  constexpr int N = 16 / sizeof(T);", t)
	s.line("  int64_t const r = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;\n  if (r >= p.rows) return;")
	for i, l := range s.p.Leaves {
		if l.Class == Column {
			s.line("  Some<%s, N> const x%d = splat<%s, N>(static_cast<%s const*>(p.leaf[%d])[r]);", s.typeOf(l.DType), i, s.typeOf(l.DType), s.typeOf(l.DType), i)
		}
	}
	s.singles("  ", "N")
	s.line("  auto const terms = [&](int64_t i, Sums<T>::type (&t)[N]) {")
	s.line("#pragma unroll\n    for (int e = 0; e < N; ++e) t[e] = -Sums<T>::type(0);\n    if (i >= p.columns) return;")
	for i, l := range s.p.Leaves {
		base := "i"
		switch l.Class {
		case Dense:
			base = "r * p.columns + i"
		case Row:
		default:
			continue
		}
		lt := s.typeOf(l.DType)
		if s.f.width > 1 {
			s.line("    Some<%s, N> const x%d = load<%s, N>(p.leaf[%d], %s);", lt, i, lt, i, base)
			continue
		}
		s.line("    Some<%s, N> x%d = {};\n#pragma unroll\n    for (int e = 0; e < N; ++e) {\n      if (i + e < p.columns) x%d.v[e] = static_cast<%s const*>(p.leaf[%d])[%s + e];\n    }", lt, i, i, lt, i, base)
	}
	s.line("    Some<T, N> const y = compute<N>(p%s);", s.arguments("", func(Class) bool { return false }))
	s.line("#pragma unroll\n    for (int e = 0; e < N; ++e) {\n      if (i + e < p.columns) t[e] = convert<Sums<T>::type>(y.v[e]);\n    }\n  };")
	s.line("  Sums<T>::type const sum = sum_row<T>(p.columns, terms);")
	s.line("  if (threadIdx.x %% 32 == 0) static_cast<T*>(p.dst)[r] = rounded<T>(sum, static_cast<double>(p.over));\n}")
}
