package array

import (
	"testing"

	"github.com/gpk-go/gpk/fused"
)

// TestCrowdedChain checks that a chain that reads more and more arrays never exceeds a program, and that one which
// reads the same arrays again is not split. The sums are exact integers.
func TestCrowdedChain(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	const n, steps = 3000, 40
	x, want := full(n, 1), 1.0
	for i := range steps {
		a, p := full(1, float64(i)), full(n, float64(i+1))
		x = x.Add(a.Mul(p))
		want += float64(i * (i + 1))
		if o := x.st.cur.node; len(o.distinctLeaves(nil)) > fused.MaxLeaves {
			t.Fatalf("step %d: the chain reads more than %d arrays", i, fused.MaxLeaves)
		}
	}
	sameNumbers(t, x, n, want)

	y, z, want := full(n, 2), full(n, 1), 1.0
	for range fused.MaxDepth / 2 {
		z = z.Mul(y).Sub(y)
		want = want*2 - 2
	}
	if o := z.st.cur.node; int(o.depth) != fused.MaxDepth-1 || o.leaves > fused.MaxLeaves {
		t.Errorf("%d operations on two arrays are %d deep and count %d arrays", fused.MaxDepth, o.depth+1, o.leaves)
	}
	sameNumbers(t, z, n, want)
}

// TestCrowdedByLayouts checks that a step that is read through two layouts is stored, because it would read its
// arrays through both, and these are more than a program supports.
func TestCrowdedByLayouts(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	const n = 40
	sum := full(n*n, 1).Reshape(n, n)
	for i := range fused.MaxLeaves/2 + 1 {
		sum = sum.Add(full(n*n, float64(i)).Reshape(n, n).T())
	}
	z := sum.Mul(sum.T())
	if sum.isPending() || !z.isPending() {
		t.Errorf("the sum is pending: %v, the product: %v", sum.isPending(), z.isPending())
	}
	if leaves := z.st.cur.node.leaves; leaves > fused.MaxLeaves {
		t.Errorf("the chain counts %d arrays", leaves)
	}
	want := float64(1 + (fused.MaxLeaves/2+1)*(fused.MaxLeaves/2)/2)
	sameNumbers(t, z.Reshape(n*n), n*n, want*want)
}

func full(n int, v float64) *Array {
	data := make([]float64, n)
	for i := range data {
		data[i] = v
	}
	return FromSlice(data, n)
}

func sameNumbers(t *testing.T, a *Array, n int, want float64) {
	t.Helper()
	got, err := ToSlice[float64](a)
	if err != nil || len(got) != n {
		t.Fatalf("%d numbers, %v", len(got), err)
	}
	for i, v := range got {
		if v != want {
			t.Fatalf("element %d is %v, want %v", i, v, want)
		}
	}
}
