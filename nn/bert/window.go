package bert

import (
	"context"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
)

// window holds the tokens of some texts.
type window struct {
	ids [][]int32
	err error
}

// span stands for the texts from first to end-1.
type span struct{ first, end int }

// spans cuts n texts into windows.
func (e *Encoder) spans(n int) []span {
	var list []span
	for first := 0; first < n; first += e.windowTexts {
		list = append(list, span{first, min(first+e.windowTexts, n)})
	}
	return list
}

// windows tokenizes spans of texts, one span ahead of the reader. It ends when ctx does.
func (e *Encoder) windows(ctx context.Context, texts []string, spans []span) iter.Seq[window] {
	return func(yield func(window) bool) {
		done := make(chan window)
		var wg sync.WaitGroup
		defer wg.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		wg.Go(func() {
			defer close(done)
			for _, s := range spans {
				w := e.tokenizeAll(ctx, texts, s.first, s.end)
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
