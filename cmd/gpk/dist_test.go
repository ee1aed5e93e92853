package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestDistCheck checks a group of one, and mistakes on the command line.
func TestDistCheck(t *testing.T) {
	for _, name := range []string{"GPK_RANK", "TORCHELASTIC_RUN_ID", "RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK", "JOB_COMPLETION_INDEX"} {
		t.Setenv(name, "")
	}
	for _, c := range []struct {
		args   string
		status int
		says   []string
	}{
		{"dist check -bytes 512", 0, []string{"1 ranks in this process", "rank 0  ", "links: within one host", "AllReduce  ", "AllToAll  ", " 512 "}},
		{"dist", exitUsage, []string{"gpk dist check"}},
		{"dist chick", exitUsage, []string{"gpk dist check"}},
		{"dist check -bytes 1", exitUsage, []string{"at least 8"}},
		{"dist check -engine x", exitFailed, []string{`engine "x"`}},
		{"dist check more", exitUsage, nil},
	} {
		var out, errs bytes.Buffer
		if status := run(context.Background(), strings.Fields(c.args), streams{&out, &errs}); status != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.args, status, c.status, errs.String())
		}
		for _, s := range c.says {
			if !strings.Contains(out.String()+errs.String(), s) {
				t.Errorf("%s does not print %q:\n%s%s", c.args, s, out.String(), errs.String())
			}
		}
	}
}
