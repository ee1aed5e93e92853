//go:build !amd64 || noasm

package fft

func rows64(p int, y, x, w, table *float64, ys, xs, n, count int) {}

func rows32(p int, y, x, w, table *float32, ys, xs, n, count int) {}

func first64(p int, y, x, w, table *float64, m, n int) {}

func first32(p int, y, x, w, table *float32, m, n int) {}
