package gpktest

import "testing"

// quick reports whether the largest sizes are left out: with -short, and under
// the race detector, where the references take ten times as long.
func quick() bool { return testing.Short() || raceDetector }
