//go:build !amd64 || noasm

package cpu

// vectorAVX is false: this build has no runTiles.
const vectorAVX = false

func runTiles(_ *tileStep, _, _ int) {}
