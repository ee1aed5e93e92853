package linalg

// solveVector sets b = t^-1 b for a triangular t and one right-hand side. It solves four rows at a time: their sums over the
// known unknowns are independent. It subtracts products in the order in which it finds the
// unknowns, as solvers of several right-hand sides do.
func solveVector[T number](t, b matrix[T], upper, unit bool) {
	const step = 4
	n := t.rows
	x, lent := scratch[T](n)
	defer lent.Free()
	for i := range x {
		x[i] = b.data[i*b.stride]
	}
	for done := 0; done < n; done += step {
		rows := min(step, n-done)
		if upper {
			hi := n - done
			lo := hi - rows
			subtractKnown(t, x, lo, hi, hi, n, true)
			for i := hi - 1; i >= lo; i-- {
				subtractKnown(t, x, i, i+1, i+1, hi, true)
				if !unit {
					x[i] /= t.at(i, i)
				}
			}
			continue
		}
		lo, hi := done, done+rows
		subtractKnown(t, x, lo, hi, 0, lo, false)
		for i := lo; i < hi; i++ {
			subtractKnown(t, x, i, i+1, lo, i, false)
			if !unit {
				x[i] /= t.at(i, i)
			}
		}
	}
	for i, v := range x {
		b.data[i*b.stride] = v
	}
}

// subtractKnown subtracts t[i, p] x[p] from x[i] for each i in lo:hi and p in from:to. With down, p descends. Each product is
// rounded first, so that the compiler does not fuse it to a multiply-add.
func subtractKnown[T number](t matrix[T], x []T, lo, hi, from, to int, down bool) {
	known := x[from:to]
	if hi-lo == 4 {
		a, b, c, d := t.row(lo)[from:to], t.row(lo + 1)[from:to], t.row(lo + 2)[from:to], t.row(lo + 3)[from:to]
		a, b, c, d = a[:len(known)], b[:len(known)], c[:len(known)], d[:len(known)]
		p, q, r, s := x[lo], x[lo+1], x[lo+2], x[lo+3]
		if down {
			for k := len(known) - 1; k >= 0; k-- {
				v := known[k]
				p, q, r, s = p-T(a[k]*v), q-T(b[k]*v), r-T(c[k]*v), s-T(d[k]*v)
			}
		} else {
			for k, v := range known {
				p, q, r, s = p-T(a[k]*v), q-T(b[k]*v), r-T(c[k]*v), s-T(d[k]*v)
			}
		}
		x[lo], x[lo+1], x[lo+2], x[lo+3] = p, q, r, s
		return
	}
	for i := lo; i < hi; i++ {
		row, s := t.row(i)[from:to], x[i]
		for k := range known {
			if down {
				k = len(known) - 1 - k
			}
			s -= T(row[k] * known[k])
		}
		x[i] = s
	}
}
