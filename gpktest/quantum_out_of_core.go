package gpktest

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/interop/npy"
	"github.com/gpk-go/gpk/quantum"
)

// quantumOutOfCore checks that K is the same matrix on the device, on the host and in a
// file, with states kept and recomputed.
func (s *suite) quantumOutOfCore(t *testing.T) {
	const q, n = 10, 20000
	c, reference := s.entangler(q)
	flat, x := s.uniform(n, q)
	defer x.Free()
	double := quantum.Options{Precision: quantum.Double, Path: quantum.General}
	in, err := s.within(t, context.Background(), c, x, double)
	if err != nil {
		t.Fatal(err)
	}
	defer in.K.Free()
	s.checkPairs(t, in.K, flat, q, reference, 16, 1e-12)
	same := func(what string, k *gpk.Array) {
		t.Helper()
		worst := 0.0
		for row := 0; row < n; row += 2500 {
			part := k.Slice(0, row, row+2500).To(s.dev)
			d, err := gpk.Item[float64](gpk.Abs(part.Sub(in.K.Slice(0, row, row+2500))).Max())
			if err != nil {
				t.Fatal(err)
			}
			if worst = max(worst, d); math.IsNaN(d) {
				worst = d
			}
			if k.Device() != s.dev {
				part.Free()
			}
		}
		t.Logf("%s: within %.2g of K on the device", what, worst)
		if !(worst <= 1e-12) {
			t.Errorf("%s: K differs by %v", what, worst)
		}
	}
	for name, change := range map[string]func(o *quantum.Options){
		"K on the host":             func(o *quantum.Options) { o.MemoryBudget = 3 << 30 },
		"states recomputed as well": func(o *quantum.Options) { o.MemoryBudget = 300 << 20 },
		"to a file":                 func(o *quantum.Options) { o.MemoryBudget = 1 << 30; o.Keep = quantum.Recompute },
	} {
		o := double
		change(&o)
		var file *os.File
		if name == "to a file" {
			if file, err = os.Create(filepath.Join(t.TempDir(), "k.npy")); err != nil {
				t.Fatal(err)
			}
			o.Output = file
		}
		r, err := s.within(t, context.Background(), c, x, o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Report.MaxBuilds > r.Plan.Builds || r.Plan.Builds > 2 && r.Report.MaxBuilds < 2 {
			t.Errorf("%s: states were built %d times, the plan says %d", name, r.Report.MaxBuilds, r.Plan.Builds)
		}
		if r.Report.FromDevice < n*n*8 || !(r.Report.FromDeviceGBs > 1) || r.Report.ToDevice == 0 || !(r.Report.ToDeviceGBs > 0) || r.Report.Writing == 0 {
			t.Errorf("%s: %+v", name, r.Report)
		}
		if d := math.Abs(r.Report.OffDiagonalMean - in.Report.OffDiagonalMean); !(d <= 1e-12) {
			t.Errorf("%s: the mean is %v, %v before", name, r.Report.OffDiagonalMean, in.Report.OffDiagonalMean)
		}
		k := r.K
		if file != nil {
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			if k, err = npy.ReadFile(file.Name()); err != nil {
				t.Fatal(err)
			}
		}
		same(name, k)
		k.Free()
	}
	// A disk that fills up after 200 MB.
	before := s.dev.Pool().InUse
	if _, err := quantum.Gram(context.Background(), c, x, nil, quantum.Options{Output: &smallDisk{left: 200 << 20}}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a full disk: %v", err)
	}
	if after := s.dev.Pool().InUse; after > before {
		t.Errorf("a full disk: %d bytes are left behind", after-before)
	}
}

// smallDisk is a writer that accepts a limited number of bytes.
type smallDisk struct{ left int64 }

func (d *smallDisk) WriteAt(b []byte, _ int64) (int, error) {
	if d.left -= int64(len(b)); d.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// quantumCancel checks that Gram returns at most 200 ms after its context has ended,
// whatever it was doing.
func (s *suite) quantumCancel(t *testing.T) {
	const q, n = 16, 40000
	c, _ := s.entangler(q)
	_, x := s.uniform(n, q)
	defer x.Free()
	if err := gpk.Eval(x); err != nil {
		t.Fatal(err)
	}
	if err := s.dev.Synchronize(context.Background()); err != nil {
		t.Fatal(err)
	}
	goroutines := runtime.NumGoroutine()
	before := s.dev.Pool().InUse
	for _, c2 := range []struct {
		name  string
		after time.Duration
		o     quantum.Options
	}{
		{"states", 30 * time.Millisecond, quantum.Options{Precision: quantum.Double}},
		{"first products", 250 * time.Millisecond, quantum.Options{Precision: quantum.Double}},
		{"products", 700 * time.Millisecond, quantum.Options{Precision: quantum.Double}},
		{"standard", 300 * time.Millisecond, quantum.Options{}},
		{"to the host", 600 * time.Millisecond, quantum.Options{Precision: quantum.Double, Output: &smallDisk{left: 1 << 60}}},
		{"K on the host", 2500 * time.Millisecond, quantum.Options{Precision: quantum.Double, MemoryBudget: 44 << 30}},
		{"recomputed", 600 * time.Millisecond, quantum.Options{Precision: quantum.Double, MemoryBudget: 20 << 30}},
	} {
		c2.o.Path = quantum.General
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan time.Time, 1)
		time.AfterFunc(c2.after, func() { ended <- time.Now(); cancel() })
		r, err := quantum.Gram(ctx, c, x, nil, c2.o)
		now := time.Now()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", c2.name, err)
			if r != nil {
				r.K.Free()
			}
			cancel()
			continue
		}
		late := now.Sub(<-ended)
		if err := s.dev.Synchronize(context.Background()); err != nil {
			t.Fatal(err)
		}
		left := s.dev.Pool().InUse - before
		t.Logf("%s: ended %v after the context, the device was idle %v after that; %d bytes left", c2.name, late, time.Since(now), left)
		if late > 200*time.Millisecond {
			t.Errorf("%s: Gram ended %v after the context", c2.name, late)
		}
		if left > 0 {
			t.Errorf("%s: %d bytes are left behind", c2.name, left)
		}
	}
	goroutinesEnd(t, goroutines)
}
