package unified

import (
	"errors"
	"fmt"
	"testing"
)

// TestLock enters from a callback, and from another goroutine while it runs.
func TestLock(t *testing.T) {
	var l lock
	errWant := errors.New("the callback's")
	entered := make(chan bool)
	if !l.enter() || l.inside() {
		t.Fatal("a free lock is taken")
	}
	err := l.during(func() error {
		if l.enter() || !l.inside() {
			t.Error("entered within a callback")
		}
		go func() {
			ok := l.enter() // waits
			if ok {
				l.leave()
			}
			entered <- ok
		}()
		select {
		case <-entered:
			t.Error("another goroutine does not wait")
		default:
		}
		return errWant
	})
	if err != errWant || l.inside() {
		t.Errorf("%v, inside %v", err, l.inside())
	}
	l.leave()
	if !<-entered {
		t.Error("another goroutine is taken for the holder")
	}
}

func TestNames(t *testing.T) {
	got := fmt.Sprint(Empty, Host, Device, Both, State(4), Read, Write, ReadWrite, Access(3))
	if want := "empty host device both State(4) read write read-write Access(3)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
