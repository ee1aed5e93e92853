package linalg

import (
	"testing"

	"github.com/gpk-go/gpk"
)

// TestOddOrders compares the parity of orders with that of the exchanges that they come from.
func TestOddOrders(t *testing.T) {
	r := random(t)
	for _, n := range []int{1, 2, 3, 17} {
		const batch = 8
		list, want := make([]int64, 0, batch*n), make([]bool, batch)
		for i := range batch {
			pivots := make([]int, n)
			for j := range pivots {
				pivots[j] = j + r.IntN(n-j)
			}
			order, odd := permutation(pivots, n)
			for _, v := range order {
				list = append(list, int64(v))
			}
			want[i] = odd
		}
		got, err := oddOrders(gpk.FromSlice(list, batch, n))
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch {
			if got[i] != want[i] {
				t.Errorf("order %v: odd %v, want %v", list[i*n:(i+1)*n], got[i], want[i])
			}
		}
	}
}

// TestCholeskyColumns checks that block columns are whole blocks of the kernels and never wider than
// the matrix.
func TestCholeskyColumns(t *testing.T) {
	for _, dt := range types {
		for _, n := range []int{1, 65, 1000, 4096, 8192, 8193, 20000} {
			c := choleskyColumns(dt, n)
			if c < 1 || c > n || c < n && c%256 != 0 {
				t.Errorf("%v, order %d: %d columns", dt, n, c)
			}
		}
	}
}
