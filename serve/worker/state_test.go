package worker

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// in returns a Worker in a state.
func in(t *testing.T, s State) *Worker[int, int] {
	t.Helper()
	block := newGate()
	w := New("w", func(c *Context, in int) (int, error) {
		if in < 0 {
			panic("negative")
		}
		return block.handle(c, in)
	}, Options{Device: cpu(t)})
	var errs []error
	do := func(fs ...func(context.Context) error) {
		for _, f := range fs {
			errs = append(errs, f(t.Context()))
		}
	}
	switch s {
	case Idle:
		do(w.Launch)
	case Active:
		do(w.Launch, w.Activate)
	case Draining:
		do(w.Launch, w.Activate)
		errs = append(errs, w.Send(t.Context(), 1, Normal))
		go func() { _ = w.Drain(context.Background()) }()
		for w.State() != Draining {
			time.Sleep(time.Microsecond)
		}
	case Terminated:
		do(w.Terminate)
	case Failed:
		do(w.Launch, w.Activate)
		if _, err := w.Ask(t.Context(), -1); err == nil {
			t.Error("no panic")
		}
	}
	if err := errors.Join(errs...); err != nil || w.State() != s {
		t.Fatalf("%v: %v", w.State(), err)
	}
	t.Cleanup(func() {
		if err := w.Terminate(context.Background()); err != nil || w.State() != Terminated {
			t.Error(w.State(), err)
		}
	})
	return w
}

// TestTransitions tries everything in every state.
func TestTransitions(t *testing.T) {
	before := runtime.NumGoroutine()
	type call = func(*Worker[int, int], context.Context) error
	calls := map[string]call{
		"Launch": (*Worker[int, int]).Launch, "Activate": (*Worker[int, int]).Activate, "Deactivate": (*Worker[int, int]).Deactivate,
		"Drain": (*Worker[int, int]).Drain, "Terminate": (*Worker[int, int]).Terminate,
	}
	asked := map[string]State{"Launch": Idle, "Activate": Active, "Deactivate": Idle, "Drain": Draining, "Terminate": Terminated}
	legal := map[State]map[string]State{
		Created:    {"Launch": Idle, "Terminate": Terminated},
		Idle:       {"Activate": Active, "Drain": Terminated, "Terminate": Terminated},
		Active:     {"Deactivate": Idle, "Drain": Terminated, "Terminate": Terminated},
		Draining:   {"Terminate": Terminated},
		Failed:     {"Terminate": Terminated},
		Terminated: {"Terminate": Terminated},
	}
	t.Run("all", func(t *testing.T) {
		for from := Created; from <= Failed; from++ {
			for name, call := range calls {
				w := in(t, from)
				err := call(w, t.Context())
				to, ok := legal[from][name]
				var e *StateError
				switch {
				case ok:
					if err != nil || w.State() != to {
						t.Errorf("%s from %v: %v, %v", name, from, w.State(), err)
					}
				case !errors.As(err, &e) || e.From != from || e.To != asked[name] || e.Worker != "w" || w.State() != from:
					t.Errorf("%s from %v: %v, %v", name, from, w.State(), err)
				case !strings.Contains(err.Error(), from.String()) || !strings.Contains(err.Error(), asked[name].String()):
					t.Errorf("%s from %v does not name both states: %v", name, from, err)
				case from == Failed && (!strings.Contains(err.Error(), "negative") || !errors.As(err, new(*PanicError))):
					t.Errorf("%s from %v does not say why: %v", name, from, err)
				}
			}
			w := in(t, from)
			if err := w.Send(t.Context(), 2, Normal); errors.Is(err, ErrNotAccepting) == from.accepts() || (err == nil) != from.accepts() {
				t.Errorf("Send to %v: %v", from, err)
			}
		}
	})
	noGoroutines(t, before)
}

// TestTable checks that the documentation's table is that of the code.
func TestTable(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]State{}
	for s := Created; s <= Failed; s++ {
		names[s.String()] = s
	}
	documented := map[[2]State]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(strings.ToLower(strings.TrimPrefix(line, "//\t")))
		if len(words) < 3 {
			continue
		}
		from, ok := names[words[0]]
		to, ok2 := names[words[len(words)-1]]
		if ok && ok2 {
			documented[[2]State{from, to}] = true
		}
	}
	n := 0
	for from, tos := range follow {
		for _, to := range tos {
			if n++; !documented[[2]State{State(from), to}] {
				t.Errorf("%v to %v is not documented", State(from), to)
			}
		}
	}
	if n != len(documented) {
		t.Errorf("%d transitions are legal, %d documented: %v", n, len(documented), documented)
	}
}

func TestLaunchFails(t *testing.T) {
	for name, w := range map[string]*Worker[int, int]{
		"no handler": New[int, int]("w", nil, Options{}),
		"policy":     New("w", echo, Options{Policy: 9}),
	} {
		if err := w.Launch(t.Context()); err == nil || w.State() != Created {
			t.Errorf("%s: %v, %v", name, w.State(), err)
		}
	}
}
