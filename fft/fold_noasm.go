//go:build !amd64 || noasm

package fft

func fold64(front, back, low, high *float64, count int) {}
