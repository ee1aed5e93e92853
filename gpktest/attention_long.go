package gpktest

import (
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// testAttentionLong tests the Hopper kernel, which takes sequences of at least 256 queries. It computes lengths
// around and above 256, for every head size of that kernel and every memory layout. It also compares each
// sequence of a ragged batch with the same sequence alone.
func testAttentionLong(t *testing.T, s *suite) {
	dims := []int{64, 96, 128, 256}
	if quick() {
		dims = []int{64, 96}
	}
	for _, v := range attentionVarieties {
		if !v.in.IsHalf() {
			continue
		}
		var sums attentionErrors
		for _, dim := range dims {
			for _, ragged := range []bool{false, true} {
				c := &attentionCase{variety: v, batch: 1, kvHeads: 1, group: 2, dim: dim, valueDim: dim}
				c.queries, c.keys = pick(s, 256, 257, 300), pick(s, 1, 128, 300, 385)
				if ragged {
					c.offsets = []int{0, 37, 37, 37 + 300, 37 + 300 + 255, 37 + 300 + 255 + 256}
					c.queries, c.keys = c.offsets[5], c.offsets[5]
				}
				c.causal = pick(s, true, false)
				c.arrangement = pick(s, "dense", "transposed", "strided", "reversed")
				c.q, c.k, c.v = s.random(v.in, 1, 2, c.queries, dim), s.random(v.in, 1, 1, c.keys, dim), s.random(v.in, 1, 1, c.keys, dim)
				got := c.attend(t, s)
				if err := c.check(s, got, &sums); err != nil {
					t.Fatalf("%v: %v", c, err)
				}
				if ragged {
					s.unpacked(t, c, got)
				}
			}
		}
	}
	if s.dev.Kind() == device.CPU || s.dev.Capabilities().SM != 90 || !slices.Contains(s.dev.Library().Describe().Archs, "90a") {
		return
	}
	q := gpk.Ones(gpk.BFloat16, 1, 2, 256, 64)
	if got := gpk.Attention(q, q, q, gpk.AttentionOptions{}).Explain(); !strings.Contains(got, "one kernel, attention_sm90") {
		t.Errorf("256 queries: %q does not name attention_sm90", got)
	}
}
