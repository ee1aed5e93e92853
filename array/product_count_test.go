package array

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/testrand"
)

// countedProduct is a product that counts its runs: those of its own node, and the one of
// a chain that begins with it. There is no second such chain, because the result of a
// chain is stored before it is read again, which is the node's own run.
type countedProduct struct {
	p        *Array
	own      int
	computed bool
	chains   int
	last     int
}

func countProduct(p *Array) *countedProduct {
	c := &countedProduct{p: p}
	run := p.node().run
	stubbed(p, func(o *job, s *device.Stream, dst device.View) error {
		c.own++
		return run(o, s, dst)
	})
	return c
}

// note is called after each step. The node is marked as computed by a chain, or by Into,
// which is a run of the node itself.
func (c *countedProduct) note() {
	s := schedulerOf(c.p.on())
	s.mu.Lock()
	defer s.mu.Unlock()
	n := c.p.node()
	if n != nil && n.computed && !c.computed {
		c.computed = true
		if c.own == c.last {
			c.chains++
		}
	}
	c.last = c.own
}

func (c *countedProduct) runs() int { c.note(); return c.own + c.chains }

// TestProductOnce checks that a product that three lines read through chains is computed
// once.
func TestProductOnce(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x, w, b := FromSlice([]float32{1, 2}, 1, 2), FromSlice([]float32{1, 1}, 2, 1), FromSlice([]float32{10})
	c := countProduct(x.MatMul(w))
	z := c.p.Add(b)
	lines := []*Array{z.Mul(2), z.Sub(1), z.Sum()}
	for i, want := range []float32{26, 12, 13} {
		wants(t, lines[i].Reshape(1), want)
		c.note()
	}
	if n := c.runs(); n != 1 {
		t.Errorf("the product ran %d times", n)
	}
}

// TestProductTwice checks that a product runs at most twice, in whatever order the
// product and the results computed from it are used.
func TestProductTwice(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	rng := testrand.New(t)
	most := 0
	for range 2000 {
		x, w := FromSlice([]float32{1, 2}, 1, 2), FromSlice([]float32{1, 1}, 2, 1)
		c := countProduct(x.MatMul(w))
		all, want := []*Array{c.p}, []float32{3}
		dst := FromSlice([]float32{0}, 1, 1)
		var steps []string
		freed := false
		check := func(err error) { // an array that has to be computed again from freed memory returns an error
			if err != nil && !(freed && errors.Is(err, device.ErrFreed)) {
				t.Fatalf("%v after %s", err, strings.Join(steps, ", "))
			}
		}
		for range 8 {
			i := rng.IntN(len(all))
			a := all[i]
			switch op := rng.IntN(6); op {
			case 0, 1:
				steps = append(steps, fmt.Sprintf("%d+1", i))
				all, want = append(all, a.Add(1)), append(want, want[i]+1)
			case 2:
				steps = append(steps, fmt.Sprintf("Eval %d", i))
				check(Eval(a))
			case 3:
				steps = append(steps, fmt.Sprintf("Into %d", i))
				err := Into(dst, a)
				check(err)
				if err == nil {
					wants(t, dst.Reshape(1), want[i])
				}
			case 4:
				steps = append(steps, fmt.Sprintf("read %d", i))
				got, err := Item[float32](a)
				check(err)
				if err == nil && got != want[i] {
					t.Fatalf("%v, want %v: %s", got, want[i], strings.Join(steps, ", "))
				}
			case 5:
				if i > 0 {
					steps = append(steps, fmt.Sprintf("Free %d", i))
					a.Free()
					freed = true
					all = append(all[:i:i], all[i+1:]...)
					want = append(want[:i:i], want[i+1:]...)
				}
			}
			c.note()
		}
		most = max(most, c.runs())
		if n := c.runs(); n > 2 {
			t.Fatalf("the product ran %d times: %s", n, strings.Join(steps, ", "))
		}
		checkInvariants(t, all...)
	}
	if most != 2 {
		t.Errorf("a product ran at most %d times: this test counts nothing", most)
	}
}
