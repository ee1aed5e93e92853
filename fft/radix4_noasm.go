//go:build !amd64 || noasm

package fft

const vector = false

func vector4x64(y, x, w *complex128, ys, xs, n, count int) {}

func vector4x32(y, x, w *complex64, ys, xs, n, count int) {}

func first4x64(y, x, w *complex128, m, n int) {}

func first4x32(y, x, w *complex64, m, n int) {}
