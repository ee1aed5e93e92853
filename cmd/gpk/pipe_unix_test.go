//go:build linux || darwin

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestGramPipe checks that reading from a pipe without a writer ends with the context.
func TestGramPipe(t *testing.T) {
	pipe := filepath.Join(gramFolder(t), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipes here: ", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	done := make(chan string, 1)
	go func() {
		var out, errs bytes.Buffer
		run(ctx, []string{"gram", "-x", pipe, "-out", pipe + ".npy"}, streams{&out, &errs})
		done <- errs.String()
	}()
	select {
	case text := <-done:
		if !strings.Contains(text, pipe) || !strings.Contains(text, context.DeadlineExceeded.Error()) {
			t.Errorf("it says %q", text)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits")
	}
	// Lets the reader go.
	if w, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
		_ = w.Close()
	}
}

// TestSignal: an interrupt ends the command.
func TestSignal(t *testing.T) {
	if os.Getenv("GPK_TEST_PIPE") != "" {
		os.Args = []string{"gpk", "gram", "-x", os.Getenv("GPK_TEST_PIPE"), "-out", os.Getenv("GPK_TEST_PIPE") + ".npy"}
		main()
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipes here: ", err)
	}
	c := exec.Command(os.Args[0], "-test.run=^TestSignal$")
	c.Env = append(os.Environ(), "GPK_TEST_PIPE="+pipe, "GPK_DEVICE=cpu")
	var text bytes.Buffer
	c.Stderr = &text
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Wait() // the state says more
	}()
	late := time.After(20 * time.Second)
	for {
		select {
		case <-done:
			if !strings.Contains(text.String(), "gpk gram: "+pipe) && c.ProcessState.ExitCode() != -1 {
				t.Errorf("%v, it says %q", c.ProcessState, &text)
			}
			return
		case <-time.After(100 * time.Millisecond):
			_ = c.Process.Signal(os.Interrupt)
		case <-late:
			_ = c.Process.Kill()
			t.Fatal("an interrupt ends nothing")
		}
	}
}
