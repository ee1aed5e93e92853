package gpktest

import (
	"flag"
	"testing"
)

// full asks for every length on the CPU too, which takes many minutes.
var full = flag.Bool("gpktest.full", false, "products of every length on the CPU too, 4095 among them")

// quick reports whether to leave out the largest sizes: with -short, and under the race
// detector, which makes the references ten times slower.
func quick() bool { return testing.Short() || raceDetector }

// rounds returns n, or few if the largest sizes are left out.
func rounds(n, few int) int {
	if quick() {
		return few
	}
	return n
}
