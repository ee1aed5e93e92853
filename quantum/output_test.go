package quantum

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/testrand"
	"github.com/gpk-go/gpk/interop/npy"
)

// memoryFile is an io.WriterAt that fails when it is full.
type memoryFile struct {
	mu    sync.Mutex
	data  []byte
	limit int
}

var errFull = errors.New("no space left on device")

func (m *memoryFile) WriteAt(p []byte, at int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.limit > 0 && int(at)+len(p) > m.limit {
		return 0, errFull
	}
	if need := int(at) + len(p); need > len(m.data) {
		m.data = append(m.data, bytes.Repeat([]byte{0xff}, need-len(m.data))...) // NaN
	}
	return copy(m.data[at:], p), nil
}

// TestOutput checks that the file has the same bits as K in memory, with K kept in memory
// or written tile by tile.
func TestOutput(t *testing.T) {
	onCPU(t)
	rng := testrand.New(t)
	x, y := randomSamples(rng, 150, 3), randomSamples(rng, 40, 3)
	for _, c := range []*Circuit{entangled(), ringCZ(3, false)} {
		for _, o := range []Options{{}, {Precision: Double}, {Tile: 34, Keep: Recompute}, {Tile: 34, Precision: Double, Keep: Recompute, Normalize: true, Jitter: 0.1}} {
			for _, against := range [][][]float64{nil, y} {
				second := func() *gpk.Array {
					if against == nil {
						return nil
					}
					return arrayOf(against, 3)
				}
				want, err := Gram(context.Background(), c, arrayOf(x, 3), second(), o)
				if err != nil {
					t.Fatal(err)
				}
				file := &memoryFile{}
				o.Output = file
				r, err := Gram(context.Background(), c, arrayOf(x, 3), second(), o)
				o.Output = nil
				if err != nil {
					t.Fatal(err)
				}
				k, err := npy.Read(bytes.NewReader(file.data))
				if err != nil {
					t.Fatal(err)
				}
				if r.K != nil || r.Plan.Result != 0 {
					t.Error("K is in memory too")
				}
				if !slices.Equal(k.Shape(), want.K.Shape()) || k.DType() != want.K.DType() || !slices.Equal(values(t, k), values(t, want.K)) {
					t.Errorf("%+v: the file differs from K in memory", o)
				}
				if r.Report.OffDiagonalMean != want.Report.OffDiagonalMean {
					t.Error("another mean")
				}
			}
		}
	}
	// In-core and out-of-core: all states at once, or a few.
	in := poisoned(t, entangled(), x, nil, 3, Options{Precision: Double})
	out := poisoned(t, entangled(), x, nil, 3, Options{Precision: Double, Keep: Recompute, Tile: 8})
	a, b := values(t, in.K), values(t, out.K)
	for i := range a {
		if !(math.Abs(a[i]-b[i]) <= 1e-12) {
			t.Fatalf("entry %d: %v in core, %v out of core", i, a[i], b[i])
		}
	}
	_, err := Gram(context.Background(), entangled(), arrayOf(x, 3), nil, Options{Output: &memoryFile{limit: 5000}})
	if !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
	_, err = Gram(context.Background(), entangled(), arrayOf(x, 3), nil, Options{Output: shortWriter{}})
	if !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a short write: %v", err)
	}
}

// TestOutputContext: the end of the context stops the rows of a tile that is being written.
func TestOutputContext(t *testing.T) {
	onCPU(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w := &cancelingWriter{cancel: cancel, left: 5}
	_, err := Gram(ctx, entangled(), arrayOf(randomSamples(testrand.New(t), 150, 3), 3), nil, Options{Output: w, Tile: 100})
	if !errors.Is(err, context.Canceled) || w.left != 0 {
		t.Errorf("%d writes after the end of the context: %v", -w.left, err)
	}
}

// cancelingWriter cancels a context in a call of WriteAt.
type cancelingWriter struct {
	cancel context.CancelFunc
	left   int // calls up to that one
}

func (w *cancelingWriter) WriteAt(p []byte, _ int64) (int, error) {
	if w.left--; w.left == 0 {
		w.cancel()
	}
	return len(p), nil
}

type shortWriter struct{}

func (shortWriter) WriteAt(p []byte, _ int64) (int, error) { return len(p) - 1, nil }
