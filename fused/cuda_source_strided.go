package fused

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

// one writes the function that computes a vector of the result. off holds the offset of the
// destination, and then the offsets of the operands.
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
