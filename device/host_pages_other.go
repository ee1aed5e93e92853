//go:build !linux

package device

// pageBytes is 0 where no large pages are asked for.
const pageBytes = 0

func adviseLargePages([]byte) {}
