//go:build !amd64 || noasm

package cpu

// What vectors do of philoxFill, of uniform32 and of normals32: nothing.

func philoxVector([]uint32, uint64, uint64) int { return 0 }

func uniformVector([]float32, []uint32, float32, float32, float32) int { return 0 }

func normalVector([]float32, []uint32, float32, float32) int { return 0 }
