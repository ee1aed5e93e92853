//go:build !amd64 || noasm

package quantum

// sincosVector has no assembly here.
func sincosVector(_, _, _ []float64) int { return 0 }
