// Package bytesize reads and prints numbers of bytes.
package bytesize

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

var units = []struct {
	name  string
	bytes float64
}{
	// Longer names come first, because each is tried as a suffix.
	{"kib", 1 << 10},
	{"mib", 1 << 20},
	{"gib", 1 << 30},
	{"tib", 1 << 40},
	{"kb", 1e3},
	{"mb", 1e6},
	{"gb", 1e9},
	{"tb", 1e12},
	{"b", 1},
}

// Parse reads a number of bytes: "1073741824", "512MiB", "1.5 GB". Units
// are KiB, MiB, GiB, TiB (powers of 1024), KB, MB, GB, TB (of 1000) and B, in
// any case.
func Parse(text string) (int64, error) {
	s, unit := strings.ToLower(strings.TrimSpace(text)), 1.0
	for _, u := range units {
		if number, ok := strings.CutSuffix(s, u.name); ok {
			s, unit = strings.TrimSpace(number), u.bytes
			break
		}
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && unit == 1 && n >= 0 {
		return n, nil
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x >= 0) || x*unit >= math.MaxInt64 || strings.ContainsAny(s, "xpn") {
		return 0, fmt.Errorf("%q is not a number of bytes such as 1073741824, 512MiB or 1.5GB", text)
	}
	return int64(x * unit), nil
}

// Format prints a number of bytes for a reader: "512 B", "1.5 GiB".
func Format(n int64) string {
	if n < 1<<10 && n > -1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	x, i := float64(n)/(1<<10), 0
	for ; math.Abs(x) >= 1024 && i < 3; i++ {
		x /= 1024
	}
	return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) + " " + [...]string{"KiB", "MiB", "GiB", "TiB"}[i]
}
