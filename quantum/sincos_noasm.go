//go:build !amd64 || noasm

package quantum

// sincosVector does nothing: this build has no assembly for it.
func sincosVector(_, _, _ []float64) int { return 0 }
