package ci

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// wanted returns the root of the repository, and skips the test unless it runs under .ci/run,
// which sets GPK_CI to the folder of its tools.
func wanted(t *testing.T) string {
	t.Helper()
	if os.Getenv("GPK_CI") == "" {
		t.Skip("it takes minutes; .ci/run sets GPK_CI")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// notRun reports a step that was left out to .ci/run, for its summary.
func notRun(t *testing.T, what string) {
	t.Helper()
	t.Log("NOT RUN: " + what)
}

// logged runs a command, and logs it with its time to show progress.
func logged(t *testing.T, dir string, env []string, command ...string) string {
	t.Helper()
	begun := time.Now()
	t.Log(strings.Join(append(env[:len(env):len(env)], command...), " "))
	out := run(t, dir, env, command...)
	t.Logf("%.0f s", time.Since(begun).Seconds())
	return out
}

// passed runs a go test -v without skipped tests, and returns its output.
func passed(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	out := logged(t, dir, env, append([]string{"go", "test", "-count=1", "-v"}, args...)...)
	for line := range strings.Lines(out) {
		if strings.Contains(line, "--- SKIP") {
			t.Errorf("skipped: %s", line)
		}
		if strings.HasPrefix(line, "ok") {
			t.Log(strings.TrimSpace(line))
		}
	}
	return out
}

// wheels returns a folder of Python packages, installed by pip with these arguments if it is
// not there yet.
func wheels(t *testing.T, name string, args ...string) string {
	t.Helper()
	dir := filepath.Join(os.Getenv("GPK_CI"), name)
	done := filepath.Join(dir, "done")
	if _, err := os.Stat(done); err == nil {
		return dir
	}
	pip := append([]string{"python3", "-m", "pip", "install", "--quiet", "--upgrade", "--target", dir}, args...)
	logged(t, "", []string{"PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_ROOT_USER_ACTION=ignore"}, pip...)
	write(t, done, "")
	return dir
}
