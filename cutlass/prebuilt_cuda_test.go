//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

import (
	"bytes"
	"compress/gzip"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// packedFake returns the fake library as a kernel module holds it.
func packedFake(t *testing.T, change func(*Sidecar)) Prebuilt {
	t.Helper()
	path := current(t, change)
	library, description := packed(t, path, filepath.Join(filepath.Dir(path), SidecarName))
	return Prebuilt{Module: "example.com/kernels", Library: library, Description: description}
}

// packed returns a library, compressed, and its description, as a kernel module holds them.
func packed(t *testing.T, libraryFile, descriptionFile string) (library, description string) {
	t.Helper()
	content, err := os.ReadFile(libraryFile)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(descriptionFile)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), string(text)
}

// TestRegistered opens kernels that are in the program, from memory.
func TestRegistered(t *testing.T) {
	Register(packedFake(t, nil))
	t.Cleanup(func() { registered.list = nil })
	t.Setenv("GPK_LIB", "")
	lib, err := Open(OpenOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if lib.Path() != "example.com/kernels" || lib.KernelSet() != KernelSetHash() {
		t.Errorf("path %s, kernel set %s", lib.Path(), lib.KernelSet())
	}
	if i, ok := lib.KernelIndex("second"); i != 1 || !ok {
		t.Errorf("KernelIndex(second) = %d, %v", i, ok)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil || !strings.Contains(string(maps), "memfd:"+LibraryName) {
		t.Errorf("no mapping of a library in memory: %v", err)
	}
}

func TestRegisteredRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Sidecar)
		cut    int
		want   error
	}{
		{"another kernel set", func(s *Sidecar) { s.KernelSet = "other" }, 0, ErrKernelSet},
		{"another ABI", func(s *Sidecar) { s.ABI++ }, 0, ErrKernelSet},
		{"another hash", func(s *Sidecar) { s.SHA256 = strings.Repeat("0", 64) }, 0, ErrDamaged},
		{"longer than described", func(s *Sidecar) { s.Size-- }, 0, ErrDamaged},
		{"truncated", nil, 100, ErrDamaged},
		{"another CUDA", func(s *Sidecar) { s.CUDA = 12080 }, 0, ErrDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := packedFake(t, c.change)
			p.Library = p.Library[:len(p.Library)-c.cut]
			var log bytes.Buffer
			_, err := Open(OpenOptions{
				Candidates: []Candidate{{Path: p.Module, From: "in the program", Asked: true, Embedded: &p}},
				Logger:     slog.New(slog.NewTextHandler(&log, nil)),
			})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), "`gpk setup") || !strings.Contains(log.String(), p.Module) {
				t.Errorf("error %v, want %v; log %q", err, c.want, log.String())
			}
		})
	}
}
