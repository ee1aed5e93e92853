package cpu

// foldChains is the least number of rows that foldChained adds side by side, and foldWidth the
// least number of elements.
const (
	foldChains = 8
	foldWidth  = 64
)

// foldRoom returns the length of the scratch that foldChained needs for rows of w elements.
func foldRoom(w int) int { return max(foldChains*w, foldWidth) }

// foldChained reduces the rows of x, of w > 0 elements each, to one row, the first row of folded: it
// combines the rows of each chain in order, and then the first half of the chains with the
// second half until one is left.
func foldChained[T floating](k *binary, folded, x []T, w int) {
	chains := max(foldChains, foldWidth/w)
	n := min(chains*w, len(x))
	copy(folded, x[:n])
	for at := n; at < len(x); at += n {
		k.vv(at0(folded), at0(folded), at0(x[at:]), min(n, len(x)-at))
	}
	for rows := n / w; rows > 1; {
		half := rows / 2
		k.vv(at0(folded), at0(folded), at0(folded[(rows-half)*w:]), half*w)
		rows -= half
	}
}

// rescale sets x to alpha x + y, where products are rounded before they are added.
func rescale[T floating](x, y []T, alpha T) {
	done := 0
	if a, ok := any(x).([]float32); ok && vectorAVX {
		if done = len(x) &^ 7; done > 0 {
			rescaleAVX(&a[0], (*float32)(at0(y)), float32(alpha), done)
		}
	}
	for i := done; i < len(x); i++ {
		x[i] = T(x[i]*alpha) + y[i]
	}
}

// fitsColumns reports whether w columns fill the vectors of columns512 well enough.
func fitsColumns(w int) bool { return vectorAVX512 && 3*w >= 2*roundUp(w, 16) }

// maxColumns sets the first row of folded to the maxima of the w columns of x.
func (r *attention[T]) maxColumns(x []T, w int, folded []T) {
	scores, ok := any(x).([]float32)
	if !ok || !fitsColumns(w) {
		foldChained(r.max, folded, x, w)
		return
	}
	dst := any(folded).([]float32)
	for j := 0; j < w; j += 16 {
		maxColumns512(&scores[j], w, len(x)/w, min(16, w-j), &dst[j])
	}
}

// weighWithVectors replaces the w columns of x by their weights with vector code, and sets the first
// row of sums to the sums of the weights. It reports false if there is none for w columns.
// Weights below e^-exp32Limit are 0, and larger ones lose less than 2^-125.
func weighWithVectors[T floating](x []T, w int, largest, sums []T) bool {
	scores, ok := any(x).([]float32)
	if !ok || !fitsColumns(w) {
		return false
	}
	m, dst := any(largest).([]float32), any(sums).([]float32)
	for j := 0; j < w; j += 16 {
		weighColumns512(&scores[j], w, len(x)/w, min(16, w-j), &m[j], &dst[j])
	}
	return true
}

// fourVectorsMatrix is vectorMatrix for four vectors of k elements, one after the other. It computes
// the columns that fill whole calls of columnsFour, and returns their number.
func (v *variant[T]) fourVectorsMatrix(y, x []T, a *T, ld, k, n int) (done int) {
	clear(y)
	for ; done+v.columnsWidth <= n; done += v.columnsWidth {
		v.columnsFour(&y[done], n, &x[0], k, offset(a, done), ld, k)
	}
	return done
}
