package quantum

import "unsafe"

// The time-consuming loops over amplitudes in two planes. The Go function specifies each.
// On amd64 there is also one in assembly with the same bits.

// rotate writes e times (ar, ai) to (xr, xi), which may be the same.
func rotate[T number](xr, xi, ar, ai []T, er, ei T) {
	n := len(ar)
	ai, xr, xi = ai[:n], xr[:n], xi[:n]
	done := 0
	if l := loops[T](); l != nil && n >= l.lanes {
		done = n / l.lanes * l.lanes
		l.rotate(&xr[0], &xi[0], &ar[0], &ai[0], er, ei, done)
	}
	for i := done; i < n; i++ {
		v, w := ar[i], ai[i]
		xr[i], xi[i] = T(v*er)-T(w*ei), T(v*ei)+T(w*er)
	}
}

// double writes b times the amplitudes r0 + i im to r1 + i im[h:], and a times them in
// place, with a and b in e. im may be nil.
func double[T number](r0, im, r1 []T, h int, e *[4]T) {
	n := len(r0)
	r1 = r1[:n]
	if im == nil {
		ar, br := e[0], e[2]
		if n%2 == 1 {
			r0[0], r1[0] = r0[0]*ar, r0[0]*br
		}
		for i := n % 2; i < n-1; i += 2 { // two at a time, because the speed of one at a time depends on the alignment of the loop
			v, w := r0[i], r0[i+1]
			r0[i], r0[i+1] = v*ar, w*ar
			r1[i], r1[i+1] = v*br, w*br
		}
		return
	}
	s0, s1 := im[:n], im[h:][:n]
	done := 0
	if l := loops[T](); l != nil && n >= l.lanes {
		done = n / l.lanes * l.lanes
		l.double(&r0[0], &s0[0], &r1[0], &s1[0], e, done)
	}
	ar, ai, br, bi := e[0], e[1], e[2], e[3]
	for i := done; i < n; i++ {
		v, w := r0[i], s0[i]
		r0[i], s0[i] = T(v*ar)-T(w*ai), T(v*ai)+T(w*ar)
		r1[i], s1[i] = T(v*br)-T(w*bi), T(v*bi)+T(w*br)
	}
}

// times multiplies (ar, ai) by (fr, fi).
func times[T number](ar, ai, fr, fi []T) {
	n := len(ar)
	ai, fr, fi = ai[:n], fr[:n], fi[:n]
	done := 0
	if l := loops[T](); l != nil && n >= l.lanes {
		done = n / l.lanes * l.lanes
		l.times(&ar[0], &ai[0], &fr[0], &fi[0], done)
	}
	for i := done; i < n; i++ {
		v, w := ar[i], ai[i]
		ar[i], ai[i] = T(v*fr[i])-T(w*fi[i]), T(v*fi[i])+T(w*fr[i])
	}
}

// pairs applies the matrix with the rows u[0] + iu[1], u[2] + iu[3] and u[4] + iu[5],
// u[6] + iu[7] to amplitudes r0 + is0 and r1 + is1.
func pairs[T number](r0, s0, r1, s1 []T, u *[8]T) {
	n := len(r0)
	s0, r1, s1 = s0[:n], r1[:n], s1[:n]
	done := 0
	if l := loops[T](); l != nil && n >= l.lanes {
		done = n / l.lanes * l.lanes
		l.pairs(&r0[0], &s0[0], &r1[0], &s1[0], u, done)
	}
	for i := done; i < n; i++ {
		x, y, v, w := r0[i], s0[i], r1[i], s1[i]
		r0[i] = T(u[0]*x) - T(u[1]*y) + (T(u[2]*v) - T(u[3]*w))
		s0[i] = T(u[0]*y) + T(u[1]*x) + (T(u[2]*w) + T(u[3]*v))
		r1[i] = T(u[4]*x) - T(u[5]*y) + (T(u[6]*v) - T(u[7]*w))
		s1[i] = T(u[4]*y) + T(u[5]*x) + (T(u[6]*w) + T(u[7]*v))
	}
}

// stateLoops are the assembly loops for one type.
type stateLoops[T number] struct {
	lanes  int // number of amplitudes that are processed together
	rotate func(xr, xi, ar, ai *T, er, ei T, n int)
	double func(r0, s0, r1, s1 *T, e *[4]T, n int)
	times  func(ar, ai, fr, fi *T, n int)
	pairs  func(r0, s0, r1, s1 *T, u *[8]T, n int)
}

var (
	loops32 *stateLoops[float32]
	loops64 *stateLoops[float64]
)

// loops returns the assembly for T, or nil if there is none.
func loops[T number]() *stateLoops[T] {
	return (*stateLoops[T])(choose[T](unsafe.Pointer(loops32), unsafe.Pointer(loops64)))
}

// choose returns single for float32 and double for float64.
func choose[T number](single, double unsafe.Pointer) unsafe.Pointer {
	if unsafe.Sizeof(*new(T)) == 4 {
		return single
	}
	return double
}
