//go:build !unix

package device

import "os"

// ownFile reports whether a file exists; its owner is not known on this system.
func ownFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}
