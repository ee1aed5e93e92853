//go:build !amd64 || noasm

package cpu

// Without assembly, no prefix of philoxFill, uniform32, uniform64 and normals32 is vectorized.

func philoxVector([]uint32, uint64, uint64) int { return 0 }

func uniformVector([]float32, []uint32, float32, float32, float32) int { return 0 }

func uniformVector64([]float64, []uint32, float64, float64, float64) int { return 0 }

func normalVector([]float32, []uint32, float32, float32) int { return 0 }
