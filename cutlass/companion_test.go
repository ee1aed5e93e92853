package cutlass

import (
	"slices"
	"testing"
)

func TestCompanionUnits(t *testing.T) {
	c := Companion{Name: "fake", Sources: map[string]string{"b.cu": "b", "a.cu": "a", "c.cuh": "c"}}
	var names []string
	for _, u := range c.Units() {
		names = append(names, u.Name+" "+u.Source())
		if u.SM != 0 || u.WGMMA() || u.Companion != "fake" {
			t.Errorf("%+v", u)
		}
	}
	if want := []string{"fake_a a", "fake_b b"}; !slices.Equal(names, want) {
		t.Errorf("units %v, want %v", names, want)
	}
	digests := []string{c.Digest()}
	for _, change := range []func(){
		func() { c.Sources["c.cuh"] = "d" },
		func() { c.Sources["d.cuh"] = "" },
		func() { delete(c.Sources, "b.cu") },
	} {
		change()
		if d := c.Digest(); len(d) != 16 || slices.Contains(digests, d) {
			t.Errorf("digest %q after %v", d, digests)
		} else {
			digests = append(digests, d)
		}
	}
}

// TestKernelSetOfCompanions checks that the kernel set changes with the digest of a companion.
func TestKernelSetOfCompanions(t *testing.T) {
	old, set := companions, KernelSetHash()
	t.Cleanup(func() { companions = old })
	companions = "first 0123\nsecond 4567\n"
	if KernelSetHash() == set {
		t.Error("other companions, the same kernel set")
	}
	if got := Companions(); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("Companions() = %v", got)
	}
	if a, b, c := CompanionDigest("first"), CompanionDigest("second"), CompanionDigest("sec"); a != "0123" || b != "4567" || c != "" {
		t.Errorf("digests %q, %q, %q", a, b, c)
	}
}
