package bytesize

import (
	"math"
	"testing"
)

// FuzzParse reads anything as a number of bytes.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"1073741824", "512MiB", "1.5 GB", "0", "-1", "1e18", "9223372036854775807", "9223372036854775808", "8388608TiB", "0x10", "inf", "NaN", "1_000", " 3 kib ", "b", "1e-400tb", "٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := Parse(s)
		if err != nil {
			if n != 0 {
				t.Errorf("%q: %d, %v", s, n, err)
			}
			return
		}
		if n < 0 {
			t.Errorf("%q: %d", s, n)
		}
		// What is written for a person is read as nearly that number.
		again, err := Parse(Format(n))
		if n < 1<<62 && (err != nil || math.Abs(float64(again)-float64(n)) > 0.051*float64(n)) {
			t.Errorf("%q: %d, written as %q, read as %d, %v", s, n, Format(n), again, err)
		}
	})
}
