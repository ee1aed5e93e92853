//go:build darwin || linux

package safetensors

import (
	"os"
	"runtime"
	"testing"

	"github.com/gpk-go/gpk/device"
	"golang.org/x/sys/unix"
)

// BenchmarkMapped measures LoadAll as if it mapped the file: the same copies from a
// mapping. See doc.go and docs/adr/0014.
func BenchmarkMapped(b *testing.B) {
	path, dev := benchFile(b), device.Default()
	if dev.Kind() != device.CPU {
		b.Skip("the default device is a GPU")
	}
	load := func() {
		file, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		info, err := file.Stat()
		if err != nil {
			b.Fatal(err)
		}
		mapped, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			b.Fatal(err)
		}
		h, err := readHeader(file, info.Size())
		if err != nil {
			b.Fatal(err)
		}
		var bufs []*device.Buffer
		for _, e := range h.entries {
			buf, err := dev.Alloc(e.end-e.begin, nil)
			if err == nil {
				err = dev.CopyFromHost(buf, 0, mapped[h.start+e.begin:h.start+e.end], nil)
			}
			if err != nil {
				b.Fatal(err)
			}
			bufs = append(bufs, buf)
		}
		for _, buf := range bufs {
			buf.Free()
		}
		if err := unix.Munmap(mapped); err != nil {
			b.Fatal(err)
		}
		runtime.KeepAlive(file)
		file.Close()
	}
	load()
	for b.Loop() {
		load()
	}
}
