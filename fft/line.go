package fft

// transformer transforms the lines of a work.
type transformer[C number] struct {
	*work
	plan   *plan[C]
	room   int  // elements of a line while it is transformed
	packed bool // pairs of real numbers are the complex ones of a line half as long
	turns  []C  // e^(-2 pi i k / n) for k <= n/2, of packed
}

func transformerOf[C number](w *work) *transformer[C] {
	t := &transformer[C]{work: w, packed: w.kind != complexToComplex && w.n%2 == 0}
	n := w.n
	if t.packed {
		n /= 2
		t.turns = make([]C, n+1)
		for k := range t.turns {
			t.turns[k] = C(root(k, w.n))
		}
	}
	t.plan = planOf[C](n)
	t.room = n + 1
	return t
}

// run reads a line and returns its transform: complex numbers, or real ones in pairs. line has
// room elements, or is where the transform belongs.
func run[C number, S element](t *transformer[C], line, scratch []C, x reader[S], alone bool) []C {
	n := t.plan.n
	z := t.plan.begin(line[:n], scratch)
	switch {
	case t.kind == complexToReal && t.packed:
		unfold(t, z, x)
	case t.kind == complexToReal:
		hermitian(t, z, x)
	case t.kind == realToComplex && t.packed:
		pairs(t, z, x)
	default:
		load(t, z, x)
	}
	t.plan.transform(line[:n], scratch, alone)
	switch {
	case t.kind == realToComplex && t.packed:
		return t.fold(line[:n+1])
	case t.kind == realToComplex:
		return line[:n/2+1]
	case t.kind == complexToReal && !t.packed:
		return halve(line[:n])
	}
	return line[:n]
}

// place returns where element j of a line belongs. The inverse transform is the forward one of
// the line backwards: x[-j].
func (t *transformer[C]) place(j int) int {
	if t.inverse && j > 0 {
		return t.plan.n - j
	}
	return j
}

// scaled converts an element, times the factor of the transform.
func scaled[C number, S element](v S, scale float64) C {
	switch v := any(v).(type) {
	case float32:
		return C(complex(float64(v)*scale, 0))
	case float64:
		return C(complex(v*scale, 0))
	case complex64:
		return C(complex(float64(real(v))*scale, float64(imag(v))*scale))
	case complex128:
		return C(complex(real(v)*scale, imag(v)*scale))
	}
	return 0
}

// load copies a line, with zeros behind its end.
func load[C number, S element](t *transformer[C], z []C, x reader[S]) {
	if from, ok := any(x.dense()).([]C); ok && x.step == 1 && t.scale == 1 && !t.inverse {
		clear(z[copy(z, from):])
		return
	}
	for j := range x.n {
		z[t.place(j)] = scaled[C](x.at(j), t.scale)
	}
	for j := x.n; j < len(z); j++ {
		z[t.place(j)] = 0
	}
}

// pairs packs two real numbers into a complex one.
func pairs[C number, S element](t *transformer[C], z []C, x reader[S]) {
	for j := range z {
		var re, im S
		if 2*j < x.n {
			re = x.at(2 * j)
		}
		if 2*j+1 < x.n {
			im = x.at(2*j + 1)
		}
		z[j] = C(complex(first(re)*t.scale, first(im)*t.scale))
	}
}

// first returns the real part of an element.
func first[S element](v S) float64 {
	switch v := any(v).(type) {
	case float32:
		return float64(v)
	case float64:
		return v
	case complex64:
		return float64(real(v))
	case complex128:
		return real(v)
	}
	return 0
}

// fold turns the transform Z of the pairs into that of the real line: with h = n/2,
//
//	X[k] = (Z[k] + conj Z[h-k]) / 2 - i/2 e^(-2 pi i k / n) (Z[k] - conj Z[h-k]),    Z[h] = Z[0]
//
// (Van Loan 1992, section 4.3.4).
func (t *transformer[C]) fold(z []C) []C {
	h := len(z) - 1
	z[h] = z[0]
	half, turn := C(complex(0.5, 0)), C(complex(0, -0.5))
	for k := 0; 2*k <= h; k++ {
		a, b := z[k], z[h-k]
		ac, bc := conj(a), conj(b)
		z[k] = (a+bc)*half + (a-bc)*turn*t.turns[k]
		z[h-k] = (b+ac)*half + (b-ac)*turn*t.turns[h-k]
	}
	return z
}

// unfold is the inverse of fold on elements that are read, times 2: of the first and the last one
// the real part counts.
//
//	Z[k] = X[k] + conj X[h-k] + i e^(2 pi i k / n) (X[k] - conj X[h-k])
func unfold[C number, S element](t *transformer[C], z []C, x reader[S]) {
	h := len(z)
	at := func(k int) C {
		if k >= x.n {
			return 0
		}
		v := scaled[C](x.at(k), t.scale)
		if k == 0 || k == h {
			v = (v + conj(v)) * C(complex(0.5, 0))
		}
		return v
	}
	for k := range h {
		a, b := at(k), conj(at(h-k))
		z[t.place(k)] = a + b + (a-b)*conj(t.turns[k])*C(complex(0, 1))
	}
}

// hermitian completes half a line of odd length: X[n-k] = conj X[k].
func hermitian[C number, S element](t *transformer[C], z []C, x reader[S]) {
	n := len(z)
	for k := range n/2 + 1 {
		var v C
		if k < x.n {
			v = scaled[C](x.at(k), t.scale)
		}
		if k == 0 {
			z[0] = (v + conj(v)) * C(complex(0.5, 0))
			continue
		}
		z[t.place(k)], z[t.place(n-k)] = v, conj(v)
	}
}

// halve packs the real parts of a line in pairs.
func halve[C number](z []C) []C {
	for j := range (len(z) + 1) / 2 {
		var im C
		if 2*j+1 < len(z) {
			im = z[2*j+1]
		}
		a, b := z[2*j], im
		z[j] = (a+conj(a))*C(complex(0.5, 0)) + (b+conj(b))*C(complex(0, 0.5))
	}
	return z[:(len(z)+1)/2]
}

// conj returns the conjugate.
func conj[C number](x C) C {
	switch x := any(x).(type) {
	case complex64:
		return C(complex(float64(real(x)), -float64(imag(x))))
	case complex128:
		return C(complex(real(x), -imag(x)))
	}
	return 0
}
