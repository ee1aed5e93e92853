//go:build !linux

package device

func adviseLargePages([]byte) {}
