//go:build unix

package device

import (
	"os"
	"syscall"
)

// ownFile reports whether a file belongs to this user and nobody else can write to it.
func ownFile(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
