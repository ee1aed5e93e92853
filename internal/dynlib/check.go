package dynlib

import (
	"debug/elf"
	"fmt"
	"io"
	"os"
	"runtime"
)

// IsFile reports whether path is a regular file or a link to one.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Check returns the reason why a file is not a complete shared library for this machine, or nil.
// Opening a damaged library can terminate the process.
func Check(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("not a file but %s", info.Mode().Type())
	}
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("not a shared library, or truncated: %w", err)
	}
	defer f.Close()
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	if f.Machine != machines[runtime.GOARCH] || f.Type != elf.ET_DYN {
		return fmt.Errorf("not a shared library for %s: %v", runtime.GOARCH, f.Machine)
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOBITS && int64(s.Offset+s.FileSize) > info.Size() {
			return fmt.Errorf("truncated: %w", io.ErrUnexpectedEOF)
		}
	}
	return nil
}
