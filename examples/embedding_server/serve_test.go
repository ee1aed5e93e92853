package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childVariable has the test binary be the server: "fake" is one with a model that computes
// nothing, "real" is the program itself.
const childVariable = "EMBEDDING_SERVER_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childVariable) {
	case "real":
		main()
		return
	case "fake":
		c, err := parse(os.Args[1:])
		if err == nil {
			err = start(untilSignal(), c, &fake{delay: 5 * time.Millisecond})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestTerminate sends SIGTERM to a server under load. All requests that the server took are
// to be answered, and the program is to exit with status 0.
func TestTerminate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT run: Windows has no SIGTERM")
	}
	for kind, args := range map[string][]string{
		"fake": {"-name", "m"},
		"real": {"-name", "m", "-model", os.Getenv("GPK_MINILM")},
	} {
		if kind == "real" && os.Getenv("GPK_MINILM") == "" {
			t.Log("NOT run with a real model: GPK_MINILM names no folder of all-MiniLM-L6-v2")
			continue
		}
		t.Run(kind, func(t *testing.T) { terminate(t, kind, args) })
	}
}

func terminate(t *testing.T, kind string, args []string) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self, append(args, "-addr", "127.0.0.1:0", "-notice", "1s")...)
	child.Env = append(os.Environ(), childVariable+"="+kind)
	log, err := child.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	address := find(t, lines, `address=(\S+)`)
	loaded := make(chan *result, 1)
	go func() { loaded <- hammer(t.Context(), "http://"+address, "m", 200, 3) }()
	answered := regexp.MustCompile(`embedding_requests_total{status="200"} [1-9]\d{2}`)
	waitFor(t, func() bool { return answered.MatchString(get(t, "http://"+address+"/metrics")) })
	if err := child.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	requests, _ := strconv.Atoi(find(t, lines, `msg=stopped requests=(\d+)`))
	r := <-loaded
	if err := child.Wait(); err != nil {
		t.Errorf("the server's end: %v", err)
	}
	t.Logf("%v answers, %d taken by the server; %d connections were refused and %d reset before the server took a request", r.answers, requests, r.refused, len(r.broken))
	if r.answers[http.StatusOK] == 0 || r.answers[http.StatusOK] != requests || len(r.answers) != 1 {
		t.Errorf("the server took %d requests, clients got %v", requests, r.answers)
	}
	// The system resets connections that the server has not taken when the listener closes. A write after that is EPIPE.
	for _, err := range r.broken {
		if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			t.Error(err)
		}
	}
}

// find reads lines of a log up to one with the pattern, and returns its group.
func find(t *testing.T, lines *bufio.Scanner, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	var read []string
	for lines.Scan() {
		line := strings.NewReplacer(" INFO ", " msg=", "\"", "").Replace(lines.Text())
		if m := re.FindStringSubmatch(line); m != nil {
			return m[1]
		}
		read = append(read, line)
	}
	t.Fatalf("%s is not in the log %q", pattern, read)
	return ""
}

// TestNotice checks that a server which is about to stop says so and still answers.
func TestNotice(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := fakeConfig
	c.notice = 2 * time.Second
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- newServer(&fake{}, c).serve(ctx, l) }()
	url := "http://" + l.Addr().String()
	health := func() (int, bool) {
		a, err := http.Get(url + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		return a.StatusCode, a.Close
	}
	if status, closes := health(); status != http.StatusOK || closes {
		t.Error(status, closes)
	}
	cancel()
	waitFor(t, func() bool { status, closes := health(); return status == http.StatusServiceUnavailable && closes })
	if status, err := send(http.DefaultClient, url, "fake", "a"); status != http.StatusOK || err != nil {
		t.Error(status, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := send(http.DefaultClient, url, "fake", "a"); err == nil {
		t.Error("the listener is still open")
	}
}

// TestDrainEnds checks that requests which take too long do not keep the server.
func TestDrainEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := fakeConfig
	c.drain = 50 * time.Millisecond
	s := newServer(&fake{gate: make(chan struct{})}, c)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.serve(ctx, l) }()
	asked := make(chan struct{})
	go func() {
		_, _ = send(http.DefaultClient, "http://"+l.Addr().String(), "fake", "a")
		close(asked)
	}()
	waitFor(t, func() bool { return s.texts.Stats().Running == 1 })
	cancel()
	if err := <-ended; !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "50ms") {
		t.Error(err)
	}
	<-asked
}
