package fft

import "unsafe"

// transformer transforms the lines of a work, one at a time.
type transformer[C number] struct {
	*work
	plan   *plan[C]
	room   int  // number of elements that the transform of a line needs
	packed bool // a line of n real numbers is transformed as n/2 complex numbers
	turns  []C  // if packed: e^(-2 pi i k / n) for k <= n/2
}

// transformerOf returns the transformer of lines of S. For the complex transform of real numbers it computes one half
// and mirrors it. Real lines whose length is a power of two are transformed as complex numbers, so that the result has
// the same bits as the complex transform.
func transformerOf[C number, S element](w *work) *transformer[C] {
	t := &transformer[C]{work: w, packed: w.n%2 == 0}
	if w.kind == complexToComplex && (isComplex[S]() || w.n&(w.n-1) == 0) {
		t.packed = false
	}
	n := w.n
	if t.packed {
		n /= 2
	}
	t.plan = planOf[C](n)
	if t.packed {
		t.turns = t.plan.turns()
	}
	t.room = n + 1
	if t.mirrored() {
		t.room = w.n
	}
	return t
}

// mirrored reports whether the second half of a transform of real numbers is a mirror image of the first.
func (t *transformer[C]) mirrored() bool { return t.packed && t.kind == complexToComplex }

func isComplex[S element]() bool {
	switch any(*new(S)).(type) {
	case complex64, complex128:
		return true
	}
	return false
}

// result returns the length of a result that run can compute in place in the destination. It returns -1 if run needs a temporary
// line, because its intermediate numbers do not fit the destination.
func (t *transformer[C]) result() int {
	switch {
	case t.kind == complexToComplex:
		return t.n
	case t.kind == realToComplex && t.packed:
		return t.plan.n + 1
	}
	return -1
}

// run reads a line from x and returns its transform: complex numbers, or real ones in pairs.
// line is a temporary line of t.room elements, or the destination, of t.result() elements.
func run[C number, S element](t *transformer[C], line, scratch []C, x reader[S], alone bool) []C {
	n := t.plan.n
	z := t.plan.begin(line[:n], scratch)
	from := inPlace(t, x)
	switch {
	case from != nil: // the first stage reads the elements where they are
	case t.kind == complexToReal && t.packed:
		unfold(t, z, x)
	case t.kind == complexToReal:
		hermitian(t, z, x)
	case t.packed:
		pairs(t, z, x)
	default:
		load(t, z, x)
	}
	if from != nil {
		t.plan.transformFrom(from, line[:n], scratch, alone)
	} else {
		t.plan.transform(line[:n], scratch, alone)
	}
	switch {
	case t.mirrored():
		t.fold(line[:n+1])
		return t.mirror(line[:2*n])
	case t.kind == realToComplex && t.packed:
		return t.fold(line[:n+1])
	case t.kind == realToComplex:
		return line[:n/2+1]
	case t.kind == complexToReal && !t.packed:
		return halve(line[:n])
	}
	return line[:n]
}

// inPlace returns the elements of x as the input of the first stage. It returns nil if they have to be copied: x has gaps,
// another type or too few elements, or the elements are scaled or read in another order.
func inPlace[C number, S element](t *transformer[C], x reader[S]) []C {
	n, dense := t.plan.n, x.dense()
	if dense == nil || t.scale != 1 || len(t.plan.stages) == 0 || t.kind == complexToReal {
		return nil
	}
	if t.packed {
		if 2*unsafe.Sizeof(*new(S)) == unsafe.Sizeof(*new(C)) && !isComplex[S]() && len(dense) >= 2*n {
			return unsafe.Slice((*C)(unsafe.Pointer(unsafe.SliceData(dense))), n)
		}
		return nil
	}
	if own, ok := any(dense).([]C); ok && !t.inverse && len(own) >= n {
		return own[:n]
	}
	return nil
}

// place returns the index in z of element j of a line. The inverse transform is the forward
// transform of the reversed line: x[-j].
func (t *transformer[C]) place(j int) int {
	if t.inverse && j > 0 {
		return t.plan.n - j
	}
	return j
}

// scaled multiplies an element by the scale of the transform and converts it to C.
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

// load copies a line to z and fills the rest of z with zeros.
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

// pairs copies a line of real numbers to z, two to a complex number, and fills the rest of z with zeros.
func pairs[C number, S element](t *transformer[C], z []C, x reader[S]) {
	if t.scale == 1 && copyPairs(z, x.dense()) {
		return
	}
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

// copyPairs is pairs for dense numbers x of the precision of z. It reports false, and copies nothing, if x is nil or of another
// type.
func copyPairs[C number, S element](z []C, x []S) bool {
	switch x := any(x).(type) {
	case []float32:
		if z, ok := any(z).([]complex64); ok && x != nil {
			to := parts[float32](z)
			clear(to[copy(to, x):])
			return true
		}
	case []float64:
		if z, ok := any(z).([]complex128); ok && x != nil {
			to := parts[float64](z)
			clear(to[copy(to, x):])
			return true
		}
	}
	return false
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

// parts returns complex numbers as pairs of real and imaginary parts. A C consists of two numbers of type R.
func parts[R float32 | float64, C number](z []C) []R {
	return unsafe.Slice((*R)(unsafe.Pointer(unsafe.SliceData(z))), 2*len(z))
}

// unfold reads X and computes twice the inverse of fold. It ignores the imaginary parts of the first and the last element:
//
//	Z[k] = X[k] + conj X[h-k] + i e^(2 pi i k / n) (X[k] - conj X[h-k])
func unfold[C number, S element](t *transformer[C], z []C, x reader[S]) {
	h := len(z)
	scale, line := t.scale, any(x.dense())
	if own, ok := line.([]C); !ok || len(own) <= h {
		copied := make([]C, h+1) // zeros after the end of x
		for k := range min(x.n, h+1) {
			copied[k] = scaled[C](x.at(k), t.scale)
		}
		scale, line = 1, copied
	}
	switch z := any(z).(type) {
	case []complex64:
		unfoldParts(parts[float32](z), parts[float32](line.([]complex64)), parts[float32](t.turns), scale, t.inverse)
	case []complex128:
		unfoldParts(parts[float64](z), parts[float64](line.([]complex128)), parts[float64](t.turns), scale, t.inverse)
	}
}

// unfoldParts is unfold on the real and imaginary parts. With inverse, Z[k] belongs at h-k for k > 0.
func unfoldParts[R float32 | float64](z, x, turns []R, scale float64, inverse bool) {
	h := len(z) / 2
	at := func(i int) R { return R(float64(x[i]) * scale) }
	for k := range h {
		i, j := 2*k, 2*(h-k)
		ar, ai, br, bi := at(i), at(i+1), at(j), -at(j+1)
		if k == 0 {
			ai, bi = 0, 0
		}
		to := i
		if inverse && k > 0 {
			to = j
		}
		pr, pi := times(ar-br, ai-bi, turns[i+1], turns[i]) // i times the conjugate of the turn
		z[to], z[to+1] = ar+br+pr, ai+bi+pi
	}
}

// hermitian reads half a line of odd length and computes the other half: X[n-k] = conj X[k].
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
