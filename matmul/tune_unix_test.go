//go:build unix

package matmul

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestTuneFilePipe: a pipe at the file's path is ignored without waiting for a writer.
func TestTuneFilePipe(t *testing.T) {
	f := tempTuneFile(t)
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(f.path, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := f.read()
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("a pipe was believed")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("waits for the pipe's writer")
	}
	if err := f.store("a problem", tuneChoice{manifest[0].Name, 1}); err != nil {
		t.Error(err)
	}
}
