//go:build !amd64 || noasm

package cpu

// vectorAVX and vectorAVX512 are false: this build has no runTiles.
const vectorAVX, vectorAVX512 = false, false

func runTiles(_ *tileStep, _, _ int) {}
