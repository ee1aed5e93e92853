package quantum

import "testing"

// TestMeasuredSamples checks that a GPU's rates are measured on whole tiles, several in a row, and that the states of a
// long circuit on the CPU stay small.
func TestMeasuredSamples(t *testing.T) {
	for _, q := range []struct {
		side, qubits int
		gpu          bool
		want         int
	}{
		{2048, 16, true, 8192},        // Double: four tiles in a row
		{2048, 16, false, 1024},       // 1 GiB of complex128 states
		{5056, 10, true, 20224},       // 20,000 samples on two ranks
		{5056, 12, true, 16384},       // 64 Mi amplitudes
		{16384, 14, true, 32768},      // two tiles
		{1600, 12, true, 6400},        // many ranks
		{96, 10, false, 384},          // the CPU's smallest tiles
		{2048, 30, false, 32},         // no more states than a tile of any circuit needs
		{16384, 4, true, 4 * 1 << 14}, // short states: whatever the tiles ask for
	} {
		if got := measuredSamples(q.side, q.qubits, q.gpu); got != q.want {
			t.Errorf("side %d, %d qubits, GPU %v: %d samples, want %d", q.side, q.qubits, q.gpu, got, q.want)
		}
	}
}
