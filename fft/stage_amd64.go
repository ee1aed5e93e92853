//go:build amd64 && !noasm

package fft

// rows2x64 computes count rows of n radix-2 butterflies. Butterfly i of row r reads the complex numbers
//
//	r*ys+i, xs+r*ys+i
//
// of x and writes, with the twiddle factor w[r], the numbers
//
//	2*r*ys+i, (2*r+1)*ys+i
//
// of y. n complex numbers must take 32 bytes or more. The results have the same bits as those of run2.
//
// The functions of radix p = 3, 5, 7, 11 and 13 read p numbers at a stride of xs and write p numbers at a stride of ys. Their
// results have the same bits as those of odd. table is stage.table.
//
//go:noescape
func rows2x64(y, x, w, table *float64, ys, xs, n, count int)

//go:noescape
func rows2x32(y, x, w, table *float32, ys, xs, n, count int)

//go:noescape
func rows3x64(y, x, w, table *float64, ys, xs, n, count int)

//go:noescape
func rows3x32(y, x, w, table *float32, ys, xs, n, count int)

//go:noescape
func rows5x64(y, x, w, table *float64, ys, xs, n, count int)

//go:noescape
func rows5x32(y, x, w, table *float32, ys, xs, n, count int)

//go:noescape
func rows7x64(y, x, w, table *float64, ys, xs, n, count int)

//go:noescape
func rows7x32(y, x, w, table *float32, ys, xs, n, count int)

//go:noescape
func rows11x64(y, x, w, table *float64, ys, xs, n, count int)

//go:noescape
func rows11x32(y, x, w, table *float32, ys, xs, n, count int)

//go:noescape
func rows13x64(y, x, w, table *float64, ys, xs, n, count int)

//go:noescape
func rows13x32(y, x, w, table *float32, ys, xs, n, count int)

// first2x64 computes n radix-2 butterflies of a first stage, whose rows have one butterfly each. Butterfly i reads the complex
// numbers i and m+i of x and writes the numbers 2*i and 2*i+1 of y, with the twiddle factor w[i]. In the functions of radix p,
// twiddle factor t of butterfly i is w[(t-1)*m+i]. n complex numbers must take 32 bytes or more.
//
//go:noescape
func first2x64(y, x, w, table *float64, m, n int)

//go:noescape
func first2x32(y, x, w, table *float32, m, n int)

//go:noescape
func first3x64(y, x, w, table *float64, m, n int)

//go:noescape
func first3x32(y, x, w, table *float32, m, n int)

//go:noescape
func first5x64(y, x, w, table *float64, m, n int)

//go:noescape
func first5x32(y, x, w, table *float32, m, n int)

//go:noescape
func first7x64(y, x, w, table *float64, m, n int)

//go:noescape
func first7x32(y, x, w, table *float32, m, n int)

// rows64 calls the function of radix p.
func rows64(p int, y, x, w, table *float64, ys, xs, n, count int) {
	switch p {
	case 2:
		rows2x64(y, x, w, table, ys, xs, n, count)
	case 3:
		rows3x64(y, x, w, table, ys, xs, n, count)
	case 5:
		rows5x64(y, x, w, table, ys, xs, n, count)
	case 7:
		rows7x64(y, x, w, table, ys, xs, n, count)
	case 11:
		rows11x64(y, x, w, table, ys, xs, n, count)
	case 13:
		rows13x64(y, x, w, table, ys, xs, n, count)
	}
}

// rows32 calls the function of radix p.
func rows32(p int, y, x, w, table *float32, ys, xs, n, count int) {
	switch p {
	case 2:
		rows2x32(y, x, w, table, ys, xs, n, count)
	case 3:
		rows3x32(y, x, w, table, ys, xs, n, count)
	case 5:
		rows5x32(y, x, w, table, ys, xs, n, count)
	case 7:
		rows7x32(y, x, w, table, ys, xs, n, count)
	case 11:
		rows11x32(y, x, w, table, ys, xs, n, count)
	case 13:
		rows13x32(y, x, w, table, ys, xs, n, count)
	}
}

// first64 calls the function of radix p.
func first64(p int, y, x, w, table *float64, m, n int) {
	switch p {
	case 2:
		first2x64(y, x, w, table, m, n)
	case 3:
		first3x64(y, x, w, table, m, n)
	case 5:
		first5x64(y, x, w, table, m, n)
	case 7:
		first7x64(y, x, w, table, m, n)
	}
}

// first32 calls the function of radix p.
func first32(p int, y, x, w, table *float32, m, n int) {
	switch p {
	case 2:
		first2x32(y, x, w, table, m, n)
	case 3:
		first3x32(y, x, w, table, m, n)
	case 5:
		first5x32(y, x, w, table, m, n)
	case 7:
		first7x32(y, x, w, table, m, n)
	}
}
