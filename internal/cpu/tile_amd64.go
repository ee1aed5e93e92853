//go:build !noasm

package cpu

// runTiles runs n steps, at most tileSteps, on the given number of bytes of every dense
// operand, a multiple of a tile.
//
//go:noescape
func runTiles(steps *tileStep, n, bytes int)
