//go:build !amd64 || noasm

package cpu

// vectorAVX is whether there is anything that runs tiles.
const vectorAVX = false

func runTiles(_ *tileStep, _, _ int) {}
