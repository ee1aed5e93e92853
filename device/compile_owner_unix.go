//go:build unix

package device

import (
	"os"
	"syscall"
)

// ownFile reports whether a file is this user's, and nobody else can write it.
func ownFile(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
