package ci

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestRun checks that function ci of .ci/run fails if its test fails, also before && where set -e has no
// effect, or if there is no such test.
func TestRun(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("NOT RUN: there is no bash")
	}
	const script = `set -euo pipefail
tools= tmp=$2
touch "$tmp/not_run"
eval "$(sed -n '/^ci() {/,/^}/p' "$1")"
go() { printf '%s\n' "$output"; return "$status"; }
ci some-test && :`
	run, err := filepath.Abs("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		output, status string
		ok             bool
	}{
		{"ok  \tpackage\t0.1s", "0", true},
		{"FAIL", "1", false},
		{"ok  \tpackage\t0.1s [no tests to run]", "0", false},
	} {
		cmd := exec.Command(bash, "-c", script, "ci", run, t.TempDir())
		cmd.Env = append(cmd.Environ(), "output="+c.output, "status="+c.status)
		if out, err := cmd.CombinedOutput(); (err == nil) != c.ok {
			t.Errorf("%q, status %s: %v\n%s", c.output, c.status, err, out)
		}
	}
}
