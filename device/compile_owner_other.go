//go:build !unix

package device

import "os"

// ownFile reports whether a file is there; who owns it is not known here.
func ownFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}
