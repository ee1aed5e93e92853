// Package examples runs the programs of its folders.
package examples

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gpk-go/gpk/device"
)

// TestPrograms builds and runs every program. Its output must equal the documentation after
// Output. GPK_MINILM is the folder of the model that two of them read.
func TestPrograms(t *testing.T) {
	if os.Getenv("GPK_EXAMPLES") == "" {
		t.Skip("NOT RUN: GPK_EXAMPLES=1 runs the programs, as CI's step examples does")
	}
	mains, err := filepath.Glob("*/main.go")
	if err != nil || len(mains) < 12 {
		t.Fatalf("%d programs: %v", len(mains), err)
	}
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin+string(filepath.Separator), "./...")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	model := os.Getenv("GPK_MINILM")
	for _, path := range mains {
		name := filepath.Dir(path)
		t.Run(name, func(t *testing.T) {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(bin, name)
			if runtime.GOOS == "windows" {
				program += ".exe"
			}
			var args []string
			switch name {
			case "semantic_search":
				args = []string{model, "A man is eating pasta.", "Somebody makes music."}
			case "kernel_library":
				if _, err := exec.LookPath("nvcc"); err != nil && device.Default().Kind() == device.CUDA {
					t.Skip("NOT RUN: no nvcc in PATH to build the library with")
				}
				args = []string{"-lib", filepath.Join(t.TempDir(), "libewma.so")}
			case "quantum_svm":
				args = []string{"-dir", t.TempDir()}
			case "embedding_server":
				serve(t, program, model)
				return
			}
			if len(args) > 0 && args[0] == "" {
				t.Skip("NOT RUN: GPK_MINILM names no model")
			}
			began := time.Now()
			out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%.1f s\n%s", time.Since(began).Seconds(), out)
			want := documented(string(source))
			if strings.HasPrefix(name, "kernel") && device.Default().Kind() == device.CPU {
				want = "there is no GPU here that could run the kernel\n"
			}
			if want != "" && string(out) != want {
				t.Errorf("printed\n%sand not\n%s", out, want)
			}
			if want == "" && len(out) == 0 {
				t.Error("printed nothing")
			}
		})
	}
}

// documented returns the output in a program's documentation, after Output.
func documented(source string) string {
	comment, _, _ := strings.Cut(source, "\npackage main")
	_, text, _ := strings.Cut(comment, "// Output:\n")
	var out strings.Builder
	for line := range strings.Lines(text) {
		if shown, ok := strings.CutPrefix(line, "//\t"); ok {
			out.WriteString(shown)
		}
	}
	if out.Len() > 0 && !strings.HasSuffix(out.String(), "\n") {
		out.WriteByte('\n')
	}
	return out.String()
}

// serve starts the server, asks it for an embedding, and ends it.
func serve(t *testing.T, program, model string) {
	if model == "" {
		t.Skip("NOT RUN: GPK_MINILM names no model")
	}
	if runtime.GOOS == "windows" {
		t.Skip("NOT RUN: the server is ended by an interrupt")
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	server := exec.CommandContext(t.Context(), program, "-model", model, "-name", "minilm", "-addr", "127.0.0.1:0")
	server.Stderr = log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	said := func() []byte { b, _ := os.ReadFile(log.Name()); return b }
	defer func() {
		if server.ProcessState == nil {
			_ = server.Process.Kill()
			_ = server.Wait()
		}
		if t.Failed() {
			t.Logf("%s", said())
		}
	}()
	var address string
	for range 300 {
		if m := regexp.MustCompile(`address=(\S+)`).FindSubmatch(said()); m != nil {
			address = string(m[1])
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	body := []byte(`{"model": "minilm", "input": "A man is eating pasta."}`)
	response, err := http.Post(fmt.Sprintf("http://%s/v1/embeddings", address), "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Data []struct{ Embedding []float64 }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || len(answer.Data) != 1 || len(answer.Data[0].Embedding) != 384 {
		t.Errorf("%s, %v: %+v", response.Status, err, answer)
	}
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
}

// TestShort checks that the programs that show one feature each have fewer than 80 lines.
func TestShort(t *testing.T) {
	for _, name := range []string{"black_scholes", "jacobi", "kernel", "kmeans", "logistic_regression", "mlp", "semantic_search", "service"} {
		source, err := os.ReadFile(filepath.Join(name, "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(source, []byte("\n")); n >= 80 {
			t.Errorf("%s has %d lines", name, n)
		}
	}
}
