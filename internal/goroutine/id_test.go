package goroutine

import (
	"runtime"
	"sync"
	"testing"
)

// TestID: the number is that of the stack trace, in goroutines that run side by side and
// in those that take the place of ended ones, and stays when the stack grows.
func TestID(t *testing.T) {
	var (
		mu   sync.Mutex
		seen = map[uint64]bool{}
		all  sync.WaitGroup
	)
	for range 20 {
		for range 50 {
			all.Go(func() {
				for range 3 {
					if got, want := ID(), printed(); got != want || got == 0 {
						t.Errorf("goroutine %d, the stack trace says %d", got, want)
					}
					runtime.Gosched()
				}
				deep(100, func() {
					if got, want := ID(), printed(); got != want {
						t.Errorf("goroutine %d, the stack trace says %d", got, want)
					}
				})
				mu.Lock()
				defer mu.Unlock()
				if seen[ID()] {
					t.Errorf("two goroutines are %d", ID())
				}
				seen[ID()] = true
			})
		}
		all.Wait()
	}
}

//go:noinline
func deep(n int, f func()) {
	var room [256]byte
	if n > 0 {
		deep(n-1, f)
	} else {
		f()
	}
	runtime.KeepAlive(&room)
}

func BenchmarkID(b *testing.B) {
	for b.Loop() {
		ID()
	}
}

// BenchmarkPrinted measures ID without the runtime's record, for stacks of less than 15
// frames.
func BenchmarkPrinted(b *testing.B) {
	deep(15, func() {
		for b.Loop() {
			printed()
		}
	})
}
