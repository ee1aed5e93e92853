package safetensors

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gpk-go/gpk"
)

// benchBytes is the size of the file to load: 64 tensors of 8 MiB.
const benchBytes = 512 << 20

func benchFile(b *testing.B) string {
	b.Helper()
	path, m := filepath.Join(b.TempDir(), "x.safetensors"), map[string]*gpk.Array{}
	x := gpk.Ones(gpk.Float32, 2048, 1024)
	for i := range 64 {
		m[string(rune('A'+i))] = x
	}
	if err := WriteFile(path, m, nil); err != nil {
		b.Fatal(err)
	}
	// What was written goes to the disk now, and stays in the page cache.
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(benchBytes)
	return path
}

// BenchmarkLoadAll opens a file of 512 MiB in the page cache and loads all of it to the
// CPU, into memory that was used before: the system's time for new memory is not gpk's.
func BenchmarkLoadAll(b *testing.B) {
	path := benchFile(b)
	load := func() {
		f, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		all, err := f.LoadAll()
		if err != nil {
			b.Fatal(err)
		}
		for _, a := range all {
			a.Free()
		}
		f.Close()
	}
	load()
	for b.Loop() {
		load()
	}
}

// BenchmarkEach loads the tensors one by one and frees each: their memory is reused.
func BenchmarkEach(b *testing.B) {
	f := opened(b, benchFile(b))
	for b.Loop() {
		for _, name := range f.Names() {
			a, err := f.Load(name)
			if err != nil {
				b.Fatal(err)
			}
			a.Free()
		}
	}
}

// BenchmarkCopy measures copies of 512 MiB from one slice to another, for comparison.
func BenchmarkCopy(b *testing.B) {
	src, dst := make([]byte, benchBytes), make([]byte, benchBytes)
	copy(src, dst) // the pages are there
	b.SetBytes(benchBytes)
	for b.Loop() {
		copy(dst, src)
	}
}

// BenchmarkOpen reads and checks the header of a file of 1,000 tensors.
func BenchmarkOpen(b *testing.B) {
	path, m := filepath.Join(b.TempDir(), "x.safetensors"), map[string]*gpk.Array{}
	x := gpk.Ones(gpk.Float32, 2, 2)
	for i := range 1000 {
		m["encoder.layer.attention.output.dense.weight."+string(rune('一'+i))] = x
	}
	if err := WriteFile(path, m, nil); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		f, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

// BenchmarkWriteFile writes 512 MiB.
func BenchmarkWriteFile(b *testing.B) {
	path, m := filepath.Join(b.TempDir(), "y.safetensors"), map[string]*gpk.Array{}
	x := gpk.Ones(gpk.Float32, 2048, 1024)
	for i := range 64 {
		m[string(rune('A'+i))] = x
	}
	b.SetBytes(benchBytes)
	for b.Loop() {
		if err := WriteFile(path, m, nil); err != nil {
			b.Fatal(err)
		}
	}
}
