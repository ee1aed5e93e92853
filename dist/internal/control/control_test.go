package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// group joins size ranks over TCP, in this process.
func group(t *testing.T, size int, cfg Config) []*Node {
	t.Helper()
	nodes, errs := join(t, size, cfg, nil)
	return ready(t, nodes, errs)
}

// ready returns the nodes, which the end of the test closes, rank 0's last.
func ready(t *testing.T, nodes []*Node, errs []error) []*Node {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, n := range slices.Backward(nodes) {
			n.Close()
		}
	})
	return nodes
}

// joinAt joins ranks over TCP, in this process. A rank dials the address that address returns.
func joinAt(t *testing.T, s *Server, cfg Config, address func(rank int) string) []*Node {
	t.Helper()
	nodes, errs := make([]*Node, cfg.Size), make([]error, cfg.Size)
	var wg sync.WaitGroup
	for rank := range nodes {
		at := address(rank)
		wg.Go(func() {
			if rank == 0 {
				nodes[rank], errs[rank] = s.Join(t.Context(), 0, "h")
			} else {
				nodes[rank], errs[rank] = Dial(t.Context(), []string{at}, nil, rank, "h", cfg)
			}
		})
	}
	wg.Wait()
	return ready(t, nodes, errs)
}

// joinTwo connects ranks 0 and 1 and closes them; rank 1 dials the addresses.
func joinTwo(t *testing.T, s *Server, addresses []string, token []byte, cfg Config) {
	t.Helper()
	var one *Node
	done := make(chan error, 1)
	go func() {
		var err error
		one, err = Dial(t.Context(), addresses, token, 1, "h", cfg)
		done <- err
	}()
	zero, err := s.Join(t.Context(), 0, "h")
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	one.Close()
	zero.Close()
}

// join is like group, but returns the errors of the ranks. change modifies the hello of a rank; a rank whose Size it
// sets to 0 does not join.
func join(t *testing.T, size int, cfg Config, change func(rank int, cfg *Config, token *[]byte)) ([]*Node, []error) {
	t.Helper()
	cfg.Size = size
	if cfg.Silence == 0 {
		cfg.Silence = 10 * time.Second // tests share the machine
	}
	if cfg.Join == 0 {
		cfg.Join = 30 * time.Second
	}
	if cfg.Linger == 0 {
		cfg.Linger = 2 * time.Second
	}
	token := []byte("secret")
	s, err := Listen([]string{"127.0.0.1:0"}, token, cfg)
	if err != nil {
		t.Fatal(err)
	}
	nodes, errs := make([]*Node, size), make([]error, size)
	var wg sync.WaitGroup
	for rank := range size {
		cfg, token := cfg, token
		if change != nil {
			change(rank, &cfg, &token)
		}
		if cfg.Size == 0 {
			continue
		}
		wg.Go(func() {
			host := fmt.Sprintf("host%d", rank)
			if rank == 0 {
				nodes[rank], errs[rank] = s.Join(t.Context(), 0, host)
			} else {
				nodes[rank], errs[rank] = Dial(t.Context(), []string{s.Addr()}, token, rank, host, cfg)
			}
		})
	}
	wg.Wait()
	return nodes, errs
}

// every runs f in a goroutine for each rank and returns the first error.
func every(nodes []*Node, f func(n *Node) error) error {
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { errs[i] = f(n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// TestThousand has 1,024 ranks in one process join, gather twice, and learn of one that fails.
func TestThousand(t *testing.T) {
	const size = 1024
	began := time.Now()
	nodes := group(t, size, Config{Silence: 60 * time.Second, Join: 120 * time.Second})
	t.Logf("%d ranks joined in %v", size, time.Since(began))
	err := every(nodes, func(n *Node) error {
		for round := range 2 {
			all, err := n.Gather(t.Context(), fmt.Sprint(round), n.Rank(), size, []byte{byte(n.Rank() * round)})
			if err != nil {
				return err
			}
			for i, p := range all {
				if len(p) != 1 || p[0] != byte(i*round) {
					return fmt.Errorf("round %d: rank %d gave %v", round, i, p)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("no luck")
	nodes[777].Fail(cause)
	err = every(nodes, func(n *Node) error {
		select {
		case <-n.Done():
		case <-time.After(30 * time.Second):
			return fmt.Errorf("rank %d has not heard of it", n.Rank())
		}
		var f *Failure
		if err := n.Err(); !errors.As(err, &f) || f.Rank != 777 || f.Host != "host777" || f.Err.Error() != "no luck" {
			return fmt.Errorf("rank %d: %w", n.Rank(), err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMessages sends messages of several lengths between all pairs, in memory and over TCP.
func TestMessages(t *testing.T) {
	const size = 3
	inside, err := Local(size, "here", Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, nodes := range map[string][]*Node{"memory": inside, "TCP": group(t, size, Config{})} {
		for _, length := range []int{0, 1, maxDataBody, 2*maxDataBody + 7} {
			message := func(from, to int) []byte { return bytes.Repeat([]byte{byte(1 + 10*from + to)}, length) }
			err := every(nodes, func(n *Node) error {
				key := fmt.Sprint(length)
				for to := range size {
					if to != n.Rank() {
						if err := n.Send(t.Context(), to, key, message(n.Rank(), to)); err != nil {
							return err
						}
					}
				}
				for from := range size {
					if from == n.Rank() {
						continue
					}
					got := make([]byte, length)
					if err := n.Recv(t.Context(), from, key, got); err != nil || !bytes.Equal(got, message(from, n.Rank())) {
						return fmt.Errorf("%s, %d bytes from %d to %d: %w", name, length, from, n.Rank(), err)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		for _, n := range nodes {
			if len(n.boxes) > 0 {
				t.Errorf("%s: rank %d keeps %d boxes", name, n.Rank(), len(n.boxes))
			}
		}
	}
}

// TestRefused has one rank that does not belong to the group. Every rank is told which, and why.
func TestRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change func(rank int, cfg *Config, token *[]byte)
		want   error
	}{
		"size":    {func(r int, c *Config, _ *[]byte) { c.Size += map[bool]int{true: 1}[r == 2] }, ErrWorld},
		"version": {func(r int, c *Config, _ *[]byte) { c.Version += map[bool]string{true: "x"}[r == 2] }, ErrVersion},
		"missing": {func(r int, c *Config, _ *[]byte) {
			if r == 2 {
				c.Size = 0
			}
		}, ErrMissing},
		"token": {func(r int, _ *Config, token *[]byte) {
			if r == 2 {
				*token = []byte("guess")
			}
		}, ErrMissing},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := join(t, 3, Config{Join: 2 * time.Second}, test.change)
			for rank, err := range errs {
				if rank == 2 && (name == "missing" || name == "token") {
					if name == "token" && !errors.Is(err, ErrMissing) {
						t.Errorf("the stranger: %v", err)
					}
					continue
				}
				var f *Failure
				if !errors.As(err, &f) || f.Rank != 2 || !errors.Is(err, test.want) {
					t.Errorf("rank %d: %v", rank, err)
				}
			}
		})
	}
}

// TestLost breaks or stalls the connection of one rank, of rank 0 and of another. All others name
// it within the time that Silence sets. The watch measures that time by its own clock, because other work on the machine may
// delay a test: a stalled rank is named within 5/4 of Silence, and a broken connection before it is silent.
func TestLost(t *testing.T) {
	for _, silent := range []bool{false, true} {
		for _, victim := range []int{0, 2} {
			t.Run(fmt.Sprintf("silent=%v/rank=%d", silent, victim), func(t *testing.T) {
				proxies := &stall{}
				nodes := through(t, 3, victim, proxies)
				if silent {
					proxies.stop()
				} else {
					proxies.cut()
				}
				for _, n := range nodes {
					if n.Rank() == victim || victim == 0 && n.Rank() == 0 {
						continue
					}
					_, err := n.Gather(t.Context(), "x", n.Rank(), 3, nil)
					var f *Failure
					want := ErrDisconnected
					if silent {
						want = ErrSilent
					}
					if !errors.As(err, &f) || f.Rank != victim || !errors.Is(err, want) {
						t.Errorf("rank %d: %v", n.Rank(), err)
					}
					if silent {
						checkSilence(t, err, shortSilence)
					}
				}
			})
		}
	}
}

// checkSilence checks how long a rank was silent, according to the text of an error.
func checkSilence(t *testing.T, err error, silence time.Duration) {
	t.Helper()
	_, text, _ := strings.Cut(fmt.Sprint(err), "(for ")
	text, _, _ = strings.Cut(text, ")")
	const rounding = 10 * time.Millisecond
	if d, wrong := time.ParseDuration(text); wrong != nil || d > silence+silence/4+rounding || d < silence-rounding {
		t.Errorf("silent for %v, want %v to 5/4 of it: %v", d, silence, err)
	}
}

// TestSilence checks ranks whose Silence differs from that of rank 0, whose value counts. No rank counts as silent.
func TestSilence(t *testing.T) {
	for name, silence := range map[string][2]time.Duration{
		"longer": {time.Minute, time.Second}, "shorter": {3 * time.Second, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes, errs := join(t, 3, Config{Silence: silence[0]}, func(rank int, cfg *Config, _ *[]byte) {
				if rank > 0 {
					cfg.Silence = silence[1]
				}
			})
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			select {
			case <-nodes[0].Done():
			case <-time.After(4 * time.Second):
			}
			for i := range nodes {
				if err := nodes[2-i].Err(); err != nil {
					t.Errorf("rank %d: %v", 2-i, err)
				}
				nodes[2-i].Close()
			}
		})
	}
}

// TestLeave closes nodes: that is no failure, unless another rank needs the one that has left.
func TestLeave(t *testing.T) {
	nodes := group(t, 3, Config{})
	nodes[1].Close()
	err := nodes[2].Recv(t.Context(), 1, "x", make([]byte, 1))
	var f *Failure
	if !errors.As(err, &f) || f.Rank != 1 || !errors.Is(err, ErrLeft) || nodes[2].Err() != nil {
		t.Errorf("Recv: %v, %v", err, nodes[2].Err())
	}
	if _, err := nodes[2].Gather(t.Context(), "x", 2, 3, nil); !errors.As(err, &f) || f.Rank != 1 || !errors.Is(err, ErrLeft) {
		t.Errorf("Gather: %v", err)
	}
}

// TestStrangers connects programs that are no ranks while a group forms.
func TestStrangers(t *testing.T) {
	cfg := Config{Size: 2, Silence: 10 * time.Second, Join: 20 * time.Second}
	s, err := Listen([]string{"127.0.0.1:0"}, []byte("secret"), cfg)
	if err != nil {
		t.Fatal(err)
	}
	hello := (&frame{kind: kindHello, body: []byte(`{"Rank":1,"Size":2}`)}).append(nil)
	for _, say := range [][]byte{nil, []byte("GET / HTTP/1.1\r\n\r\n"), hello, append([]byte(magic), bytes.Repeat([]byte{1}, 4096)...)} {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = c.Write(say)
	}
	// One that knows the token and then breaks the rules before it says which rank it is.
	c, err := dialOnce(t.Context(), s.Addr(), []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = c.Write((&frame{kind: kindHello, body: make([]byte, maxHello+1)}).append(nil))

	joinTwo(t, s, []string{s.Addr()}, []byte("secret"), cfg)
}

// TestPorts listens at the second address where another program has the first, and a rank finds
// the right one of them.
func TestPorts(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go func() {
		for {
			c, err := other.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("220 mail.example ESMTP, what can I do for you? There is enough text here.\r\n"))
			_ = c.Close()
		}
	}()
	cfg := Config{Size: 2, Silence: 10 * time.Second, Join: 20 * time.Second}
	taken := other.Addr().String()
	if _, err := Listen([]string{taken}, nil, cfg); err == nil || !strings.Contains(err.Error(), taken) {
		t.Errorf("a taken port: %v", err)
	}
	s, err := Listen([]string{taken, "127.0.0.1:0"}, nil, cfg)
	if err != nil {
		t.Fatal(err)
	}
	joinTwo(t, s, []string{taken, s.Addr()}, nil, cfg)

	short := cfg
	short.Join = time.Second
	_, err = Dial(t.Context(), []string{taken}, nil, 1, "h", short)
	if !errors.Is(err, ErrMissing) || !errors.Is(err, errForeign) {
		t.Errorf("a foreign program: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = Dial(ctx, []string{taken}, nil, 1, "h", cfg); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}
