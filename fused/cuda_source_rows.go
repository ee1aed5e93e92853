package fused

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

// rowLeaves writes the loads, from column at, of the leaves that have one row for all rows.
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
