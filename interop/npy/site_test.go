package npy

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// line returns the position of its caller.
func line() string {
	_, file, n, _ := runtime.Caller(1)
	return fmt.Sprintf("npy/%s:%d", filepath.Base(file), n)
}

// TestSite: errors of arrays name the user's line and nothing of this package. That of a
// freed array names the line of Free too.
func TestSite(t *testing.T) {
	freed := gpk.Ones(gpk.Float32, 3)
	freed.Free()
	half := gpk.FromSlice([]bfloat16.BFloat16{1})
	file := filepath.Join(t.TempDir(), "x")
	for name, f := range map[string]func() (string, error){
		"freed":         func() (string, error) { return line(), Write(io.Discard, freed) },
		"freed, file":   func() (string, error) { return line(), WriteFile(file, freed) },
		"freed, zip":    func() (string, error) { return line(), WriteZip(io.Discard, map[string]*gpk.Array{"x": freed}) },
		"type":          func() (string, error) { return line(), Write(io.Discard, half) },
		"load":          func() (string, error) { return line(), Load(file).Sum(0).Err() },
		"header":        func() (string, error) { _, err := Header(gpk.BFloat16); return line(), err },
		"nil":           func() (string, error) { return line(), Write(io.Discard, nil) },
		"nil writer":    func() (string, error) { return line(), Write(nil, gpk.Ones(gpk.Float32, 1)) },
		"name in a zip": func() (string, error) { return line(), WriteZip(io.Discard, map[string]*gpk.Array{"": half}) },
	} {
		want, err := f()
		op, ok := errors.AsType[*gpk.OpError](err)
		lines := 1
		if strings.HasPrefix(name, "freed") {
			lines = 2 // the line of Free, too
		}
		if !ok || op.Site != want || strings.Count(err.Error(), ".go:") != lines || strings.Count(err.Error(), "site_test.go:") != lines {
			t.Errorf("%s: %v, want the line %s and %d in all", name, err, want, lines)
		}
	}
	// What failed earlier keeps its own line.
	at, failed := line(), gpk.Ones(gpk.Float32, 3).Reshape(4)
	if err := Write(io.Discard, failed); err == nil || !strings.Contains(err.Error(), at) {
		t.Errorf("a failed array: %v, want %s", err, at)
	}
}

// zeros is a stream of zeros after a header, which records how far it was read.
type zeros struct {
	head []byte
	n    int
}

func (z *zeros) Read(p []byte) (int, error) {
	k := copy(p, z.head)
	z.head = z.head[k:]
	if k == 0 {
		clear(p)
		k = len(p)
	}
	z.n += k
	return k, nil
}

// TestBomb checks that data that do not fit are refused before they are read.
func TestBomb(t *testing.T) {
	cpu := devicetest.DefaultCPU(t)
	limit := cpu.Pool().Limit
	cpu.SetMemoryLimit(64 << 20)
	defer cpu.SetMemoryLimit(limit)
	const n = 65 << 20
	head, err := Header(gpk.Uint8, n)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	part, err := w.Create("x.npy")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(head); err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = ReadZip(bytes.NewReader(b.Bytes()), int64(b.Len()))
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, gpk.ErrOutOfMemory) || !strings.Contains(err.Error(), "65 MiB") || got > 8<<20 {
		t.Errorf("a zip: %d bytes were allocated, error %v", got, err)
	}
	z := &zeros{head: head}
	if _, err := Read(z); !errors.Is(err, gpk.ErrOutOfMemory) || z.n > 2<<20 {
		t.Errorf("a stream: %d bytes were read, error %v", z.n, err)
	}
	z = &zeros{head: head}
	cpu.SetMemoryLimit(limit)
	if a, err := Read(z); err != nil || a.Size() != n {
		t.Errorf("without a limit: %v", err)
	}
}
