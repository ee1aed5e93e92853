//go:build !linux

package device

// pageBytes is 0: no large pages are requested.
const pageBytes = 0

func adviseLargePages([]byte) {}
