//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

// QuantumAngles returns ErrNotBuilt.
func (*Library) QuantumAngles(device int, stream uint64, q QuantumAngles) error { return Built() }

// QuantumSlots returns ErrNotBuilt.
func (*Library) QuantumSlots(device int, stream uint64, q QuantumSlots) error { return Built() }

// QuantumPass returns ErrNotBuilt.
func (*Library) QuantumPass(device int, stream uint64, q QuantumPass) error { return Built() }

// QuantumNorms returns ErrNotBuilt.
func (*Library) QuantumNorms(device int, stream uint64, q QuantumNorms) error { return Built() }

// QuantumClosed returns ErrNotBuilt.
func (*Library) QuantumClosed(device int, stream uint64, q QuantumClosed) error { return Built() }

// QuantumFinishWorkspace returns ErrNotBuilt.
func (*Library) QuantumFinishWorkspace(rows, cols int) (int64, error) { return 0, Built() }

// QuantumFinish returns ErrNotBuilt.
func (*Library) QuantumFinish(device int, stream uint64, q QuantumFinish) error { return Built() }

// QuantumClosedWhole returns ErrNotBuilt.
func (*Library) QuantumClosedWhole(device int, stream uint64, q QuantumClosedWhole) (bool, error) {
	return false, Built()
}

// QuantumClosedGram returns ErrNotBuilt.
func (*Library) QuantumClosedGram(device int, stream uint64, q QuantumClosedGram) error {
	return Built()
}

// QuantumGramWorkspace returns ErrNotBuilt.
func (*Library) QuantumGramWorkspace(device int, q QuantumGram) (int64, error) { return 0, Built() }

// HasQuantumGram returns ErrNotBuilt.
func (*Library) HasQuantumGram(device int) (bool, error) { return false, Built() }

// QuantumGram returns ErrNotBuilt.
func (*Library) QuantumGram(device int, stream uint64, q QuantumGram) error { return Built() }
