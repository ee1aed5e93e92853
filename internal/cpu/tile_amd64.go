//go:build !noasm

package cpu

// runTiles runs n steps, at most tileSteps, on so many bytes, whole tiles, of every
// dense operand.
//
//go:noescape
func runTiles(steps *tileStep, n, bytes int)
