package fft

import "math/bits"

// bluestein transforms lines of any length n by a convolution of a smooth length m >= 2 n - 1
// (Bluestein, A linear filtering approach to the computation of discrete Fourier transform, IEEE
// Trans. Audio Electroacoust. 18, 1970): with c[j] = e^(-pi i j^2 / n),
//
//	X[k] = c[k] sum over j of (x[j] c[j]) conj(c[k-j])
type bluestein[C number] struct {
	n      int
	of     *plan[C] // plan of length m
	chirp  []C      // c
	filter []C      // the transform of conj(c[-n+1 … n-1]), padded to m elements
}

func newBluestein[C number](n int) *bluestein[C] {
	b := &bluestein[C]{n: n, of: newPlan[C](smooth(2*n - 1)), chirp: make([]C, n)}
	m := b.of.n
	b.filter = make([]C, m)
	scratch := make([]C, b.of.scratch())
	f := b.of.begin(b.filter, scratch)
	clear(f)
	for j := range n {
		hi, lo := bits.Mul64(uint64(j), uint64(j))
		_, square := bits.Div64(hi%uint64(2*n), lo, uint64(2*n)) // j^2 modulo 2 n
		c := root(int(square), 2*n)
		b.chirp[j] = C(c)
		c = complex(real(c)/float64(m), -imag(c)/float64(m))
		f[j] = C(c)
		if j > 0 {
			f[m-j] = C(c)
		}
	}
	b.of.transform(b.filter, scratch, true)
	return b
}

// transform replaces line by its transform. scratch has 2 m elements.
func (b *bluestein[C]) transform(line, scratch []C, alone bool) {
	m := b.of.n
	work, rest := scratch[:m], scratch[m:2*m]
	x := b.of.begin(work, rest)
	multiply(x, line, b.chirp)
	clear(x[b.n:])
	b.of.transform(work, rest, alone)
	// The inverse transform is the forward transform of the reversed line.
	x = b.of.begin(work, rest)
	multiply(x, work, b.filter)
	b.of.transform(work, rest, alone)
	line[0] = work[0]
	for k := 1; k < b.n; k++ {
		line[k] = work[m-k]
	}
	multiply(line, line, b.chirp)
}
