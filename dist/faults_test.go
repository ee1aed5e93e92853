//go:build unix

package dist

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/porttest"
)

func init() {
	// All ranks reduce without end; each says once that it does.
	programs["forever"] = func(_ context.Context, c *Comm) error {
		for i := 0; ; i++ {
			if err := c.AllReduce(gpk.Ones(gpk.Float32, 100), Sum).Err(); err != nil {
				return err
			}
			if i == 3 {
				fmt.Printf("rank %d runs as %d\n", c.Rank(), os.Getpid())
			}
		}
	}
}

// process is a rank that the test started.
type process struct {
	cmd    *exec.Cmd
	output chan string // lines of both streams, closed at its end
}

func start(t *testing.T, env []string, command ...string) *process {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(command[0], command[1:]...), output: make(chan string, 1000)}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = w, w
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	go func() {
		defer close(p.output)
		defer r.Close()
		for s := bufio.NewReader(r); ; {
			line, err := s.ReadString('\n')
			if line != "" {
				p.output <- line
			}
			if err != nil {
				if err != io.EOF {
					p.output <- err.Error()
				}
				return
			}
		}
	}()
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	return p
}

// await returns the next line that has a text, or the lines that came instead.
func (p *process) await(text string, limit time.Duration) (string, error) {
	timer := time.After(limit)
	var seen strings.Builder
	for {
		select {
		case line, ok := <-p.output:
			if !ok {
				return "", fmt.Errorf("ended without %q: %s", text, seen.String())
			}
			seen.WriteString(line)
			if strings.Contains(line, text) {
				return line, nil
			}
		case <-timer:
			return "", fmt.Errorf("no %q within %v: %s", text, limit, seen.String())
		}
	}
}

// hang is the time after which a test gives a process up. It does not measure how fast a rank is named,
// because other work on the machine may delay a test. The watch measures that by its own clock: it names a
// silent rank after four to five seconds, and one that died before four; checkSilence reads the time in the error.
const hang = 60 * time.Second

// longestSilence is the longest silence after which the watch names a rank.
const longestSilence = 5 * time.Second

// checkSilence checks how long a rank was silent, according to the text of an error.
func checkSilence(t *testing.T, line string) {
	t.Helper()
	_, text, _ := strings.Cut(line, "(for ")
	text, _, _ = strings.Cut(text, ")")
	if d, err := time.ParseDuration(text); err != nil || d > longestSilence || d < 4*time.Second {
		t.Errorf("silent for %v, want 4 to 5 seconds: %v: %s", d, err, line)
	}
}

// TestKilled kills or stops each rank of three processes whose data moves over TCP. The others name it, and end by
// themselves.
func TestKilled(t *testing.T) { testKilled(t, "GPK_TEST_ENGINE=tcp") }

// TestKilledNCCL does so while all ranks are in a call of NCCL, which does not return before it is aborted.
func TestKilledNCCL(t *testing.T) {
	file, why := fakeLibrary()
	if why != "" {
		t.Skipf("NOT RUN: there is no fake NCCL: %s", why)
	}
	testKilled(t, "GPK_TEST_NCCL=1", "GPK_NCCL="+file, "GPK_FAKE_NCCL=apart:4") // "forever" says that it runs after four calls
}

func testKilled(t *testing.T, env ...string) {
	if testing.Short() {
		t.Skip("NOT RUN: several processes, in short runs")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for signal, cause := range map[syscall.Signal]string{syscall.SIGKILL: "died", syscall.SIGSTOP: "silent"} {
		for victim := range 3 {
			t.Run(fmt.Sprintf("%v/rank=%d", signal, victim), func(t *testing.T) {
				t.Parallel()
				address := porttest.FreeAddress(t)
				var ranks []*process
				for rank := range 3 {
					own := []string{child + "=forever", "GPK_RANK=" + strconv.Itoa(rank), "GPK_SIZE=3", "GPK_ADDR=" + address, "GPK_TOKEN=" + t.Name()}
					ranks = append(ranks, start(t, append(own, env...), self))
				}
				for _, p := range ranks {
					if _, err := p.await("runs as", hang); err != nil {
						t.Fatal(err)
					}
				}
				if err := ranks[victim].cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				for rank, p := range ranks {
					if rank == victim {
						continue
					}
					line, err := p.await("a rank's error", hang)
					if err != nil || !strings.Contains(line, fmt.Sprintf("rank %d (", victim)) || !strings.Contains(line, cause) {
						t.Errorf("rank %d: %v %s", rank, err, line)
					}
					if signal == syscall.SIGSTOP {
						checkSilence(t, line)
					}
					if err := p.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
						t.Errorf("rank %d ended with %v", rank, err)
					}
				}
			})
		}
	}
}

// TestKilledSeveral kills each of two processes that hold two ranks. The other names one of its ranks.
func TestKilledSeveral(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN: several processes, in short runs")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for victim := range 2 {
		t.Run(fmt.Sprintf("process=%d", victim), func(t *testing.T) {
			t.Parallel()
			address := porttest.FreeAddress(t)
			var processes []*process
			for i := range 2 {
				processes = append(processes, start(t, []string{child + "=forever", "GPK_TEST_HELD=2", "GPK_RANK=" + strconv.Itoa(i), "GPK_SIZE=2", "GPK_ADDR=" + address, "GPK_TOKEN=" + t.Name()}, self))
			}
			for _, p := range processes {
				for range 2 {
					if _, err := p.await("runs as", hang); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := processes[victim].cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			line, err := processes[1-victim].await("a rank's error", hang)
			names := strings.Contains(line, fmt.Sprintf("rank %d (", 2*victim)) || strings.Contains(line, fmt.Sprintf("rank %d (", 2*victim+1))
			if err != nil || !names || !strings.Contains(line, "died") {
				t.Errorf("%v %s", err, line)
			}
			if err := processes[1-victim].cmd.Wait(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// startOpenMPI starts ranks under Open MPI, with env added to the environment.
func startOpenMPI(t *testing.T, ranks string, env ...string) *process {
	t.Helper()
	command := launcher(t, true, "mpirun.openmpi")
	if _, err := startMPI(nil); errors.Is(err, errNoMPI) {
		t.Skipf("NOT RUN: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return start(t, append(env, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"), command, "--oversubscribe", "-n", ranks, self)
}

// TestKilledMPI kills or stops each rank under Open MPI. Its launcher ends all ranks when one dies; if one is stopped, the
// others name it.
func TestKilledMPI(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		for victim := range 3 {
			t.Run(fmt.Sprintf("%v/rank=%d", signal, victim), func(t *testing.T) { testKilledMPI(t, signal, victim) })
		}
	}
}

func testKilledMPI(t *testing.T, signal syscall.Signal, victim int) {
	p := startOpenMPI(t, "3", child+"=forever", "GPK_TEST_ENGINE=mpi")
	pids := map[int]int{}
	for range 3 {
		line, err := p.await("runs as", hang)
		if err != nil {
			t.Fatal(err)
		}
		var rank, pid int
		if _, err := fmt.Sscanf(line, "rank %d runs as %d", &rank, &pid); err != nil {
			t.Fatal(err)
		}
		pids[rank] = pid
	}
	if err := syscall.Kill(pids[victim], signal); err != nil {
		t.Fatal(err)
	}
	if signal == syscall.SIGSTOP {
		defer func() { _ = syscall.Kill(pids[victim], syscall.SIGKILL) }()
		line, err := p.await("a rank's error", hang)
		if err != nil || !strings.Contains(line, fmt.Sprintf("rank %d (", victim)) || !strings.Contains(line, "silent") {
			t.Errorf("%v %s", err, line)
		}
		checkSilence(t, line)
		return
	}
	for end := time.After(hang); ; { // the pipe closes when the launcher and all ranks have ended
		select {
		case _, more := <-p.output:
			if more {
				continue
			}
		case <-end:
			t.Fatal("a rank runs on")
		}
		break
	}
	if err := p.cmd.Wait(); err == nil {
		t.Error("the launcher reports no error")
	}
}

// TestMissingMPI has a rank that starts MPI and never joins. Join of the other returns.
func TestMissingMPI(t *testing.T) {
	p := startOpenMPI(t, "2", child+"=missing")
	line, err := p.await("a rank's error", hang)
	if err != nil || !strings.Contains(line, "has not joined within 2s") {
		t.Errorf("%v %s", err, line)
	}
}
