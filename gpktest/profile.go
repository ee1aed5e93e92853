package gpktest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/profile"
)

// testProfile checks that the times in a profile are those of the device.
func testProfile(t *testing.T, s *suite) {
	settle(t, s) // pending arrays that earlier tests dropped would be computed in the profile
	t.Run("Spin", func(t *testing.T) { profileSpin(t, s) })
	t.Run("Products", func(t *testing.T) { profileProducts(t, s) })
	t.Run("Copies", func(t *testing.T) { profileCopies(t, s) })
	t.Run("Graph", func(t *testing.T) { profileGraph(t, s) })
}

// profiled returns the report of the calls of f.
func profiled(t *testing.T, f func() error) *profile.Report {
	t.Helper()
	p, err := profile.Start(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = f()
	r, err2 := p.Stop()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return r
}

// spinSource is a kernel that runs for a given number of nanoseconds.
const spinSource = `
extern "C" __global__ void spin(unsigned long long ns) {
	unsigned long long begin, now;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
	do {
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	} while (now - begin < ns);
}
`

// spinner returns a function that keeps the device busy for a given time. It returns the
// actual time if it is known.
func spinner(t *testing.T, s *suite) func(time.Duration) (time.Duration, error) {
	if s.dev.Kind() == device.CPU {
		return func(d time.Duration) (took time.Duration, err error) {
			err = s.dev.Launch(nil, nil, nil, func(int, uint64) error {
				for begin := time.Now(); took < d; took = time.Since(begin) {
				}
				return nil
			})
			return took, err
		}
	}
	k, err := gpk.Kernel(spinSource, "spin")
	if errors.Is(err, gpk.ErrUnsupported) {
		t.Skipf("nothing is compiled here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(d time.Duration) (time.Duration, error) {
		return d, k.Launch(gpk.LaunchOptions{Grid: [3]int{1}, Block: [3]int{1}}, uint64(d))
	}
}

// near reports whether a time is within 2 % of another.
func near(got, want time.Duration) bool {
	return math.Abs(float64(got-want)) <= 0.02*float64(want)
}

// measured repeats a measurement on the CPU until it agrees, for at most a minute, because
// other processes may interrupt it.
func (s *suite) measured(t *testing.T, measure func() error) {
	t.Helper()
	err := measure()
	for end := time.Now().Add(time.Minute); err != nil && s.dev.Kind() == device.CPU && time.Now().Before(end); {
		err = measure()
	}
	if err != nil {
		t.Error(err)
	}
}

// profileSpin runs work of 5 ms, and compares the report with that time and with events
// around the work. On a GPU, the host's call must not wait.
func profileSpin(t *testing.T, s *suite) {
	spin := spinner(t, s)
	begin, err := s.dev.NewEvent()
	end, err2 := s.dev.NewEvent()
	_, err3 := spin(time.Millisecond) // loads the kernel
	if err := errors.Join(err, err2, err3, s.dev.Synchronize(context.Background())); err != nil {
		t.Fatal(err)
	}
	defer begin.Free()
	defer end.Free()
	s.measured(t, func() error { return spinOnce(t, s, spin, begin, end) })
}

// spinOnce makes one measurement of profileSpin.
func spinOnce(t *testing.T, s *suite, spin func(time.Duration) (time.Duration, error), begin, end *device.Event) (errs error) {
	const took, calls, most = 5 * time.Millisecond, 5, 100 * time.Microsecond
	wrong := func(format string, args ...any) { errs = errors.Join(errs, fmt.Errorf(format, args...)) }
	var want []time.Duration
	r := profiled(t, func() error {
		err := s.dev.DefaultStream().Record(begin)
		for range calls {
			d, err2 := spin(took)
			want, err = append(want, d), errors.Join(err, err2)
		}
		return errors.Join(err, s.dev.DefaultStream().Record(end))
	})
	total, err := end.Elapsed(begin)
	if err != nil || len(r.Operations) != calls {
		t.Fatalf("%d operations, error %v", len(r.Operations), err)
	}
	var sum, host time.Duration
	host = math.MaxInt64
	for i, o := range r.Operations {
		if o.Time == nil || !near(*o.Time, want[i]) {
			wrong("work of %v: %v", want[i], o.Time)
			continue
		}
		sum += *o.Time
		host = min(host, o.Host)
		if i > 0 && *o.OnDevice < *r.Operations[i-1].OnDevice+*r.Operations[i-1].Time-10*time.Microsecond {
			wrong("operation %d begins at %v, before the one before ends", i, *o.OnDevice)
		}
	}
	if sum > total || s.dev.Kind() != device.CPU && !near(sum, total) { // the CPU does other things in between
		wrong("%v together, events tell %v", sum, total)
	}
	if s.dev.Kind() != device.CPU && host > most {
		wrong("the host's call takes %v", host)
	}
	if r.Duration < total {
		wrong("Stop has not waited: %v for %v of work", r.Duration, total)
	}
	return errs
}

// profileProducts compares the sum of the times of products with the time between events
// around all of them.
func profileProducts(t *testing.T, s *suite) {
	n, calls := 4096, 20
	if s.dev.Kind() == device.CPU {
		n, calls = 256, 5
	}
	x, y := gpk.Ones(gpk.Float32, n, n), gpk.Zeros(gpk.Float32, n, n)
	begin, err := s.dev.NewEvent()
	end, err2 := s.dev.NewEvent()
	if err := errors.Join(err, err2, gpk.Into(y, x.MatMul(x)), s.dev.Synchronize(context.Background())); err != nil {
		t.Fatal(err)
	}
	defer begin.Free()
	defer end.Free()
	if s.dev.Kind() != device.CPU { // no gap between the products: all are there before the first begins
		if _, err := spinner(t, s)(20 * time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	r := profiled(t, func() error {
		err := s.dev.DefaultStream().Record(begin)
		for range calls {
			err = errors.Join(err, gpk.Into(y, x.MatMul(x)))
		}
		return errors.Join(err, s.dev.DefaultStream().Record(end))
	})
	total, err := end.Elapsed(begin)
	if err != nil {
		t.Fatal(err)
	}
	var sum time.Duration
	for _, o := range r.Operations {
		if o.Name != "MatMul" || o.Kernel == "" || o.Flops != 2*int64(n)*int64(n)*int64(n) || o.Time == nil || !strings.HasPrefix(o.Site, "gpktest/profile.go:") {
			t.Fatalf("%+v", o)
		}
		sum += *o.Time
	}
	if len(r.Operations) != calls || sum > total || s.dev.Kind() != device.CPU && !near(sum, total) {
		t.Errorf("%d products take %v, events tell %v", len(r.Operations), sum, total)
	}
	if i := slices.IndexFunc(r.Devices, func(d profile.Device) bool { return d.Name == s.dev.String() }); i < 0 || len(r.Devices[i].Streams) == 0 {
		t.Errorf("%+v", r.Devices)
	}
}

// profileCopies checks bytes and times of copies.
func profileCopies(t *testing.T, s *suite) {
	n := 256 << 20
	if s.dev.Kind() == device.CPU {
		n = 16 << 20
	}
	host := make([]byte, n)
	buf, err := s.dev.Alloc(int64(n), nil)
	if err != nil {
		t.Skip(err)
	}
	defer buf.Free()
	if err := s.dev.CopyFromHost(buf, 0, host, nil); err != nil { // the staging memory is there
		t.Fatal(err)
	}
	s.measured(t, func() error { return copyOnce(t, s, buf, host) })
}

// copyOnce makes one measurement of profileCopies.
func copyOnce(t *testing.T, s *suite, buf *device.Buffer, host []byte) (errs error) {
	n := len(host)
	var wall [2]time.Duration
	r := profiled(t, func() error {
		begin := time.Now()
		err := errors.Join(s.dev.CopyFromHost(buf, 0, host, nil), s.dev.Synchronize(context.Background()))
		wall[0] = time.Since(begin)
		begin = time.Now()
		err = errors.Join(err, s.dev.CopyToHost(host, buf, 0, nil))
		wall[1] = time.Since(begin)
		return err
	})
	if len(r.Transfers) != 2 {
		t.Fatalf("%+v", r.Transfers)
	}
	for i, x := range r.Transfers {
		const most = 2000 // GB/s, more than any bus moves
		if x.Bytes != int64(n) || x.Time == nil || *x.Time > wall[i] || *x.Time < wall[i]/2 || float64(n)/float64(*x.Time) > most {
			errs = errors.Join(errs, fmt.Errorf("%s of %d bytes in %v, by the clock %v", x.Kind, x.Bytes, x.Time, wall[i]))
			continue
		}
		t.Logf("%s: %.1f GB/s", x.Kind, float64(n)/float64(*x.Time))
	}
	return errs
}

// profileGraph checks that the report contains the replays of a graph.
func profileGraph(t *testing.T, s *suite) {
	x := gpk.Ones(gpk.Float32, 1000)
	if err := gpk.Eval(x); err != nil {
		t.Fatal(err)
	}
	var g *gpk.Graph
	r := profiled(t, func() (err error) {
		g, err = gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array { return []*gpk.Array{in[0].Add(1).CumSum(0)} })
		if err == nil {
			err = errors.Join(g.Replay(), g.Replay())
		}
		return err
	})
	defer g.Free()
	if len(r.Operations) != 2 || r.Graphs == nil || r.Graphs.Captures != 1 || r.Graphs.Replays != 2 {
		t.Fatalf("%+v, %+v", r.Operations, r.Graphs)
	}
	for _, o := range r.Operations {
		if o.Name != "Replay" || o.Time == nil {
			t.Errorf("%+v", o)
		}
	}
	if got, err := gpk.ToSlice[float32](g.Outputs()[0]); err != nil || got[999] != 2000 {
		t.Errorf("the replay gives %v, %v", got[999:], err)
	}
}
