package bert

import (
	"context"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
)

// window is some texts as tokens.
type window struct {
	ids [][]int32
	err error
}

// windows tokenizes texts, one window ahead of the reader. It ends with ctx.
func (e *Encoder) windows(ctx context.Context, texts []string) iter.Seq[window] {
	return func(yield func(window) bool) {
		done := make(chan window)
		var wg sync.WaitGroup
		defer wg.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		wg.Go(func() {
			defer close(done)
			for first := 0; first < len(texts); first += e.windowTexts {
				w := e.tokenizeAll(ctx, texts, first, min(first+e.windowTexts, len(texts)))
				select {
				case done <- w:
				case <-ctx.Done():
					return
				}
			}
		})
		for w := range done {
			if !yield(w) {
				return
			}
		}
	}
}

// tokenizeAll tokenizes texts[first:end] on all processors.
func (e *Encoder) tokenizeAll(ctx context.Context, texts []string, first, end int) window {
	w := window{ids: make([][]int32, end-first)}
	errs := make([]error, len(w.ids))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(w.ids)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(w.ids) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				w.ids[i], errs[i] = e.Tokenize(texts[first+i])
			}
		})
	}
	wg.Wait()
	if w.err = ctx.Err(); w.err != nil {
		return w
	}
	for i, err := range errs {
		if err != nil {
			w.err = &TextError{first + i, err}
			break
		}
	}
	return w
}
