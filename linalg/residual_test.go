package linalg

import (
	"fmt"
	"math"
	"testing"

	"github.com/gpk-go/gpk"
)

// residuals calls f for types, sizes, kinds of matrices and layouts.
func residuals(t *testing.T, sizes [][2]int, f func(t *testing.T, dt gpk.DType, list []wide, a *gpk.Array)) {
	r := random(t)
	for _, dt := range types {
		for _, size := range sizes {
			for kind, draw := range kinds {
				for lies, lay := range layouts {
					if lies != "dense" && kind != "random" {
						continue
					}
					t.Run(fmt.Sprint(dt, size, kind, lies), func(t *testing.T) {
						list := []wide{draw(r, dt, size[0], size[1]), draw(r, dt, size[0], size[1])}
						a := lay(rounded(dt, []int{2}, list...))
						f(t, dt, widen(t, a), a)
					})
				}
			}
		}
	}
}

var squares = [][2]int{{1, 1}, {2, 2}, {5, 5}, {17, 17}, {35, 35}}

var rectangles = [][2]int{{1, 1}, {1, 4}, {4, 1}, {3, 3}, {20, 9}, {9, 20}, {36, 33}, {34, 40}}

func TestCholesky(t *testing.T) {
	r := random(t)
	for _, dt := range types {
		for _, n := range []int{1, 2, 7, 33, 50} {
			for kind := range kinds {
				for lies, lay := range layouts {
					if lies != "dense" && kind != "random" {
						continue
					}
					a := lay(rounded(dt, []int{2}, positive(r, dt, kind, n), positive(r, dt, kind, n)))
					for _, set := range []Option{0, Upper} {
						var opts []Option
						if set != 0 {
							opts = append(opts, set)
						}
						ls := widen(t, Cholesky(a, opts...))
						for i, m := range widen(t, a) {
							l := ls[i]
							if set == Upper {
								l = l.adjoint()
							}
							for p := range n {
								for q := p + 1; q < n; q++ {
									if l.at(p, q) != 0 {
										t.Fatalf("%v: element %d, %d is %v", set, p, q, l.at(p, q))
									}
								}
							}
							bound(t, fmt.Sprint("A - L L^H ", dt, n, kind, lies), dt, n, m.minus(l.times(l.adjoint())).norm(), m.norm())
						}
					}
				}
			}
		}
	}
}

func TestLU(t *testing.T) {
	residuals(t, append(rectangles, squares...), func(t *testing.T, dt gpk.DType, list []wide, a *gpk.Array) {
		order, l, u := LU(a)
		rows, err := gpk.ToSlice[int64](order)
		if err != nil {
			t.Fatal(err)
		}
		ls, us := widen(t, l), widen(t, u)
		for i, m := range list {
			p := newWide(m.rows, m.cols)
			for j := range m.rows {
				copy(p.data[j*m.cols:][:m.cols], m.data[int(rows[i*m.rows+j])*m.cols:])
			}
			for _, v := range ls[i].data {
				if limit := 1 + 4*eps(dt); math.Hypot(real(v), imag(v)) > limit && (!dt.IsComplex() || math.Hypot(real(v), imag(v)) > math.Sqrt2*limit) {
					t.Errorf("an element %v of L", v)
				}
			}
			// Higham 2002, theorem 9.3: |P A - L U| <= n eps |L| |U|, element by element.
			size := absolute(ls[i]).times(absolute(us[i])).norm()
			bound(t, "P A - L U", dt, max(m.rows, m.cols), p.minus(ls[i].times(us[i])).norm(), size)
		}
	})
}

func absolute(m wide) wide {
	c := newWide(m.rows, m.cols)
	for i, v := range m.data {
		c.data[i] = complex(math.Hypot(real(v), imag(v)), 0)
	}
	return c
}

// TestPhase checks the absolute value of Q for matrices of one complex element, of which about 1 in 10,000 was outside of the bound
// when the real part of 1 - tau was rounded twice.
func TestPhase(t *testing.T) {
	r := random(t)
	for _, dt := range []gpk.DType{gpk.Complex64, gpk.Complex128} {
		q, _ := QR(rounded(dt, nil, normal(r, dt, 1, 200000)).Reshape(200000, 1, 1))
		for _, m := range widen(t, q) {
			v := m.at(0, 0)
			bound(t, "|q|^2 - 1", dt, 1, math.Abs(real(v)*real(v)+imag(v)*imag(v)-1), 1)
		}
	}
}

func TestQR(t *testing.T) {
	residuals(t, append(rectangles, squares...), func(t *testing.T, dt gpk.DType, list []wide, a *gpk.Array) {
		for _, opts := range [][]Option{nil, {Complete}} {
			q, r := QR(a, opts...)
			qs, rs := widen(t, q), widen(t, r)
			for i, m := range list {
				n := max(m.rows, m.cols)
				bound(t, "A - Q R", dt, n, m.minus(qs[i].times(rs[i])).norm(), m.norm())
				k := qs[i].cols
				bound(t, "Q^H Q - I", dt, n, qs[i].adjoint().times(qs[i]).minus(eye(k)).norm(), math.Sqrt(float64(k)))
				for x := range rs[i].rows {
					if x < rs[i].cols && imag(rs[i].at(x, x)) != 0 {
						t.Fatalf("element %d of R's diagonal is %v", x, rs[i].at(x, x))
					}
					for y := range min(x, rs[i].cols) {
						if rs[i].at(x, y) != 0 {
							t.Fatalf("element %d, %d of R is %v", x, y, rs[i].at(x, y))
						}
					}
				}
			}
		}
	})
}

func TestSolve(t *testing.T) {
	r := random(t)
	residuals(t, squares, func(t *testing.T, dt gpk.DType, list []wide, a *gpk.Array) {
		n := list[0].rows
		b := rounded(dt, nil, normal(r, dt, n, 3)) // broadcast
		y := widen(t, b)[0]
		xs := widen(t, Solve(a, b))
		for i, m := range list {
			// The normwise backward error (Rigal and Gaches; Higham 2002, theorem 7.1). LU's growth of
			// such matrices is small (Higham 2002, section 9.4).
			bound(t, "b - A x", dt, n, y.minus(m.times(xs[i])).norm(), m.norm()*xs[i].norm()+y.norm())
		}
		v := b.Slice(1, 1, 2).Squeeze(1) // a vector
		if x := Solve(a, v); x.Err() != nil || x.NDim() != 2 {
			t.Errorf("a vector: %v %v", x.Shape(), x.Err())
		}
	})
}

func TestSolvePositive(t *testing.T) {
	r := random(t)
	for _, dt := range types {
		for _, n := range []int{1, 3, 40} {
			for kind := range kinds {
				a := rounded(dt, nil, positive(r, dt, kind, n))
				b := rounded(dt, []int{2}, normal(r, dt, n, 2), normal(r, dt, n, 2))
				m := widen(t, a)[0]
				ys, xs := widen(t, b), widen(t, Solve(a, b, Positive))
				for i := range xs {
					bound(t, fmt.Sprint("b - A x ", dt, n, kind), dt, n, ys[i].minus(m.times(xs[i])).norm(), m.norm()*xs[i].norm()+ys[i].norm())
				}
			}
		}
	}
}

func TestSolveTriangular(t *testing.T) {
	r := random(t)
	residuals(t, squares, func(t *testing.T, dt gpk.DType, list []wide, a *gpk.Array) {
		n := list[0].rows
		b := rounded(dt, []int{2}, normal(r, dt, n, 2), normal(r, dt, n, 2))
		ys := widen(t, b)
		for set := range Option(16) {
			if set&Positive != 0 {
				continue
			}
			var opts []Option
			if set != 0 {
				opts = []Option{set}
			}
			xs := widen(t, SolveTriangular(a, b, opts...))
			for i, m := range list {
				tri := newWide(n, n)
				for p := range n {
					for q := range n {
						if p == q && set&Unit != 0 {
							tri.set(p, q, 1)
						} else if p == q || (p < q) == (set&Upper != 0) {
							tri.set(p, q, m.at(p, q))
						}
					}
				}
				if set&Adjoint != 0 {
					tri = tri.adjoint()
				}
				// Higham 2002, theorem 8.5: (T + E) x = b with |E| <= n eps |T|.
				if size := xs[i].norm(); !math.IsInf(size, 0) && !math.IsNaN(size) {
					bound(t, fmt.Sprint("b - T x ", set), dt, n, ys[i].minus(tri.times(xs[i])).norm(), tri.norm()*size)
				}
			}
		}
	})
}

func TestInv(t *testing.T) {
	residuals(t, squares, func(t *testing.T, dt gpk.DType, list []wide, a *gpk.Array) {
		xs := widen(t, Inv(a))
		for i, m := range list {
			// The residual on the side on which the systems are solved (Higham 2002, section 14.3).
			bound(t, "A X - I", dt, m.rows, m.times(xs[i]).minus(eye(m.rows)).norm(), m.norm()*xs[i].norm())
		}
	})
}

func TestEigh(t *testing.T) {
	r := random(t)
	for _, dt := range types {
		for _, n := range []int{1, 2, 5, 34, 45} {
			for kind, draw := range kinds {
				for lies, lay := range layouts {
					if lies != "dense" && kind != "random" {
						continue
					}
					m := draw(r, dt, n, n)
					m = m.minus(m.adjoint().times(eye(n)).minus(m).minus(m)) // 3 m - m^H: its lower triangle counts
					a := lay(rounded(dt, nil, m))
					for _, opts := range [][]Option{nil, {Upper}} {
						h := newWide(n, n)
						given := widen(t, a)[0]
						for p := range n {
							h.set(p, p, complex(real(given.at(p, p)), 0))
							for q := range p {
								v := given.at(p, q)
								if opts != nil {
									v = given.at(q, p)
									v = complex(real(v), -imag(v))
								}
								h.set(p, q, v)
								h.set(q, p, complex(real(v), -imag(v)))
							}
						}
						values, vectors := Eigh(a, opts...)
						v := widen(t, vectors)[0]
						d := newWide(n, n)
						list := widen(t, values.Unsqueeze(0))[0].data
						for i, x := range list {
							d.set(i, i, x)
							if i > 0 && real(x) < real(list[i-1]) {
								t.Errorf("%v not ascending", list)
							}
						}
						what := fmt.Sprint(dt, n, kind, lies, opts)
						bound(t, "A V - V D "+what, dt, n, h.times(v).minus(v.times(d)).norm(), h.norm())
						bound(t, "V^H V - I "+what, dt, n, v.adjoint().times(v).minus(eye(n)).norm(), math.Sqrt(float64(n)))
						alone := widen(t, EigvalsH(a, opts...).Unsqueeze(0))[0]
						bound(t, "EigvalsH "+what, dt, n, alone.minus(wide{list, 1, n}).norm(), h.norm())
					}
				}
			}
		}
	}
}

func TestSVD(t *testing.T) {
	residuals(t, rectangles, func(t *testing.T, dt gpk.DType, list []wide, a *gpk.Array) {
		for _, opts := range [][]Option{nil, {Complete}} {
			u, s, vh := SVD(a, opts...)
			us, vs := widen(t, u), widen(t, vh)
			values := widen(t, s)[0]
			alone := widen(t, SVDVals(a))[0]
			pinv := widen(t, Pinv(a))
			for i, m := range list {
				k, n := min(m.rows, m.cols), max(m.rows, m.cols)
				d := newWide(us[i].cols, vs[i].rows)
				for j := range k {
					v := values.at(i, j)
					d.set(j, j, v)
					if real(v) < 0 || j > 0 && real(v) > real(values.at(i, j-1)) {
						t.Errorf("%v not descending", values.data)
					}
				}
				// LAPACK's dbdsqr sets superdiagonals to zero that are below eps^(-1/8) eps of a singular
				// value, 91 eps: 23 more than n, four times.
				bound(t, "A - U S V^H", dt, n+23, m.minus(us[i].times(d).times(vs[i])).norm(), m.norm())
				bound(t, "U^H U - I", dt, n, us[i].adjoint().times(us[i]).minus(eye(us[i].cols)).norm(), math.Sqrt(float64(us[i].cols)))
				bound(t, "V^H V - I", dt, n, vs[i].times(vs[i].adjoint()).minus(eye(vs[i].rows)).norm(), math.Sqrt(float64(vs[i].rows)))
				// The projection on the range: P^2 = P, by A A^+ A = A, with the condition that is kept.
				x := pinv[i]
				bound(t, "A A^+ A - A", dt, n, m.times(x).times(m).minus(m).norm(), m.norm()*max(1, m.norm()*x.norm()))
			}
			bound(t, "SVDVals", dt, max(list[0].rows, list[0].cols), alone.minus(values).norm(), alone.norm())
		}
	})
}

// TestRankOne factors matrices of ones. Their columns are equal, so that every reflector leaves the next
// columns smaller by a factor of eps, down to subnormal numbers.
func TestRankOne(t *testing.T) {
	for _, dt := range types {
		for _, size := range [][2]int{{150, 40}, {40, 150}, {60, 60}} {
			m, n := size[0], size[1]
			a := gpk.Ones(dt, m, n)
			one := widen(t, a)[0]
			q, r := QR(a)
			u, s, vh := SVD(a)
			qs, rs, us, vs := widen(t, q)[0], widen(t, r)[0], widen(t, u)[0], widen(t, vh)[0]
			k, most := min(m, n), max(m, n)
			d := newWide(k, k)
			for i, v := range widen(t, s.Unsqueeze(0))[0].data {
				d.set(i, i, v)
			}
			what := fmt.Sprint(dt, size)
			bound(t, "A - Q R "+what, dt, most, one.minus(qs.times(rs)).norm(), one.norm())
			bound(t, "A - U S V^H "+what, dt, most, one.minus(us.times(d).times(vs)).norm(), one.norm())
			for name, x := range map[string]wide{"Q": qs, "U": us, "V": vs.adjoint()} {
				bound(t, name+"^H "+name+" - I "+what, dt, most, x.adjoint().times(x).minus(eye(k)).norm(), math.Sqrt(float64(k)))
			}
		}
	}
}
