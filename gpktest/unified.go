package gpktest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/serve/unified"
)

// unifiedCase is a buffer under test with the number of transfers that it should have
// made.
type unifiedCase struct {
	t        *testing.T
	b        *unified.Buffer[float32]
	cpu      bool
	up, down int
}

const unifiedLen = 1000

func (s *suite) unified(t *testing.T, pinned bool) *unifiedCase {
	t.Helper()
	b, err := unified.New[float32](unifiedLen, s.dev, unified.Options{Pinned: pinned})
	noError(t, err)
	return &unifiedCase{t: t, b: b, cpu: s.dev.Kind() == device.CPU}
}

// expect checks state and transfers; up and down are added to the latter.
func (c *unifiedCase) expect(state unified.State, up, down int) {
	c.t.Helper()
	c.up, c.down = c.up+up, c.down+down
	wantUp, wantDown := c.up, c.down
	if c.cpu {
		wantUp, wantDown = 0, 0
	}
	gotUp, gotDown := c.b.Transfers()
	if got := c.b.State(); got != state || gotUp != wantUp || gotDown != wantDown {
		c.t.Errorf("%v after %d uploads and %d downloads; want %v after %d and %d", got, gotUp, gotDown, state, wantUp, wantDown)
	}
}

// write sets all elements on the host.
func (c *unifiedCase) write(v float32) {
	c.t.Helper()
	noError(c.t, c.b.HostWrite(func(x []float32) error {
		for i := range x {
			x[i] = v
		}
		return nil
	}))
}

// host checks all elements on the host.
func (c *unifiedCase) host(v float32) {
	c.t.Helper()
	noError(c.t, c.b.HostRead(func(x []float32) error { return allAre(x, v) }))
}

func allAre(x []float32, v float32) error {
	if len(x) != unifiedLen {
		return fmt.Errorf("%d elements", len(x))
	}
	if i := slices.IndexFunc(x, func(e float32) bool { return e != v }); i >= 0 {
		return fmt.Errorf("element %d is %v, want %v", i, x[i], v)
	}
	return nil
}

func (c *unifiedCase) array(a unified.Access) *gpk.Array {
	c.t.Helper()
	x, err := c.b.Device(a)
	noError(c.t, err)
	return x
}

// device checks all elements on the device.
func (c *unifiedCase) device(v float32) {
	c.t.Helper()
	x, err := gpk.ToSlice[float32](c.array(unified.Read))
	noError(c.t, err)
	noError(c.t, allAre(x, v))
}

// testUnified checks the states of a unified buffer, and counts its copies.
func testUnified(t *testing.T, s *suite) {
	for _, pinned := range []bool{false, true} {
		settle(t, s)
		before, mark, stop := s.dev.Pool().InUse, s.dev.Buffers(), s.dev.TraceAllocations()
		for name, run := range map[string]func(*unifiedCase){
			"Empty": unifiedEmpty, "Host": unifiedHost, "Device": unifiedDevice,
			"Unseen": unifiedUnseen, "Conflict": unifiedConflict, "Views": unifiedViews,
			"Callbacks": unifiedCallbacks, "Freed": unifiedFreed, "Close": unifiedClose,
		} {
			t.Run(fmt.Sprintf("%s/pinned=%v", name, pinned), func(t *testing.T) {
				c := s.unified(t, pinned)
				run(c)
				noError(t, c.b.Close())
				noError(t, c.b.Close())
			})
		}
		s.nothingLeft(t, before, mark)
		stop()
	}
	t.Run("Types", func(t *testing.T) { unifiedTypes(t, s) })
	t.Run("Concurrent", func(t *testing.T) { unifiedConcurrent(t, s) })
	t.Run("Dropped", func(t *testing.T) { unifiedDropped(t, s) })
}

func unifiedEmpty(c *unifiedCase) {
	c.expect(unified.Empty, 0, 0)
	c.host(0)
	c.device(0)
	c.expect(unified.Empty, 0, 0)
	c.write(3)
	c.expect(unified.Host, 0, 0)
	c.device(3)
	c.expect(unified.Both, 1, 0)
}

// unifiedHost has five writes of the host and two reads of the device: one upload.
func unifiedHost(c *unifiedCase) {
	for i := range 5 {
		c.write(float32(i))
		c.expect(unified.Host, 0, 0)
	}
	c.host(4)
	c.device(4)
	c.expect(unified.Both, 1, 0)
	c.device(4)
	c.host(4)
	c.expect(unified.Both, 0, 0)
	y := c.array(unified.Read).Mul(2) // pending, and reads the contents of now
	c.write(7)
	c.device(7)
	c.expect(unified.Both, 1, 0)
	got, err := gpk.ToSlice[float32](y)
	noError(c.t, err)
	noError(c.t, allAre(got, 8))
}

// unifiedDevice has a write of the device and two reads of the host: one download.
func unifiedDevice(c *unifiedCase) {
	c.write(1)
	noError(c.t, gpk.Into(c.array(unified.Write), gpk.Full(gpk.Float32, 5, unifiedLen)))
	c.expect(unified.Device, 0, 0) // what the host wrote was not uploaded
	c.host(5)
	c.host(5)
	c.expect(unified.Both, 0, 1)
	noError(c.t, c.array(unified.ReadWrite).AddInPlace(1))
	c.expect(unified.Device, 0, 0)
	c.device(6)
	c.expect(unified.Device, 0, 0)
	// A write of the host changes some elements, and finds the others.
	noError(c.t, c.b.HostWrite(func(x []float32) error {
		err := allAre(x, 6)
		for i := range x[:unifiedLen/2] {
			x[i] = 7
		}
		return err
	}))
	c.expect(unified.Host, 0, 1)
	noError(c.t, c.array(unified.ReadWrite).Slice(0, unifiedLen/2, unifiedLen).AddInPlace(1))
	c.expect(unified.Device, 1, 0)
	c.host(7)
	c.expect(unified.Both, 0, 1)
}

// unifiedUnseen writes an array that was asked for to be read, or long ago.
func unifiedUnseen(c *unifiedCase) {
	c.write(1)
	x := c.array(unified.Read)
	c.expect(unified.Both, 1, 0)
	noError(c.t, x.AddInPlace(1))
	c.expect(unified.Device, 0, 0)
	c.host(2)
	c.expect(unified.Both, 0, 1)
	y := x.Mul(5)
	noError(c.t, gpk.Into(x, y))
	y.Free() // it may keep what it has read
	c.write(11)
	c.expect(unified.Host, 0, 1)
	c.device(11)
	c.expect(unified.Both, 1, 0)
}

// unifiedConflict writes both sides.
func unifiedConflict(c *unifiedCase) {
	c.write(1)
	x := c.array(unified.Read)
	c.write(2)
	noError(c.t, x.AddInPlace(1))
	for range 2 {
		for name, err := range map[string]error{
			"HostRead":  c.b.HostRead(func([]float32) error { return nil }),
			"HostWrite": c.b.HostWrite(func([]float32) error { return nil }),
			"Device":    second(c.b.Device(unified.ReadWrite)),
		} {
			if !errors.Is(err, unified.ErrConflict) {
				c.t.Errorf("%s: %v, want a conflict", name, err)
			}
		}
	}
	noError(c.t, gpk.Into(c.array(unified.Write), gpk.Full(gpk.Float32, 9, unifiedLen)))
	c.host(9)
	c.expect(unified.Both, 1, 1)
}

func second[T any](_ T, err error) error { return err }

// unifiedViews writes a part of the array through a view.
func unifiedViews(c *unifiedCase) {
	view := c.array(unified.Read).Reshape(10, unifiedLen/10).Slice(0, 3, 4)
	noError(c.t, view.CopyFrom(2))
	noError(c.t, c.b.HostRead(func(x []float32) error {
		for i, v := range x {
			want := float32(0)
			if i/(unifiedLen/10) == 3 {
				want = 2
			}
			if v != want {
				return fmt.Errorf("element %d is %v, want %v", i, v, want)
			}
		}
		return nil
	}))
	c.expect(unified.Both, 0, 1)
}

// unifiedCallbacks uses a buffer in its own callbacks.
func unifiedCallbacks(c *unifiedCase) {
	other, err := unified.New[float32](unifiedLen, nil, unified.Options{})
	noError(c.t, err)
	defer other.Close()
	nothing := func([]float32) error { return nil }
	errFail := errors.New("a callback's own")
	for name, use := range map[string]func(func([]float32) error) error{"HostRead": c.b.HostRead, "HostWrite": c.b.HostWrite} {
		err := use(func(x []float32) error {
			for inner, err := range map[string]error{
				"HostRead": c.b.HostRead(nothing), "HostWrite": c.b.HostWrite(nothing),
				"Device": second(c.b.Device(unified.Read)), "Close": c.b.Close(),
			} {
				if !errors.Is(err, unified.ErrInCallback) {
					c.t.Errorf("%s in %s: %v", inner, name, err)
				}
			}
			c.b.State()
			c.b.Transfers()
			noError(c.t, other.HostWrite(func(y []float32) error { copy(y, x); return nil }))
			return errFail
		})
		if !errors.Is(err, errFail) {
			c.t.Errorf("%s returns %v, not the callback's error", name, err)
		}
		if c.b.HostRead(nil) == nil || c.b.HostWrite(nil) == nil {
			c.t.Error("a nil callback is accepted")
		}
	}
	c.expect(unified.Host, 0, 0) // a callback that fails may have written
	func() {
		defer func() {
			if recover() == nil {
				c.t.Error("no panic")
			}
		}()
		_ = c.b.HostWrite(func([]float32) error { panic("in a callback") })
	}()
	c.write(4)
	c.device(4)
}

// unifiedFreed has the program free the array, which it should not.
func unifiedFreed(c *unifiedCase) {
	c.write(1)
	c.array(unified.Read).Free()
	c.host(1)
	c.device(1)
	c.expect(unified.Both, 2, 0)
	c.array(unified.ReadWrite).Free()
	if err := c.b.HostRead(func([]float32) error { return nil }); !errors.Is(err, gpk.ErrFreed) {
		c.t.Errorf("the only side with the contents was freed: %v", err)
	}
	if _, err := c.b.Device(unified.Read); !errors.Is(err, gpk.ErrFreed) {
		c.t.Errorf("the only side with the contents was freed: %v", err)
	}
	noError(c.t, gpk.Into(c.array(unified.Write), gpk.Full(gpk.Float32, 9, unifiedLen)))
	c.host(9)
}

// unifiedClose uses a buffer after Close.
func unifiedClose(c *unifiedCase) {
	c.write(1)
	x := c.array(unified.Read)
	y := x.Add(1) // pending
	noError(c.t, c.b.Close())
	for name, err := range map[string]error{
		"HostRead":  c.b.HostRead(func([]float32) error { return nil }),
		"HostWrite": c.b.HostWrite(func([]float32) error { return nil }),
		"Device":    second(c.b.Device(unified.Write)),
	} {
		if !errors.Is(err, unified.ErrClosed) || !errors.Is(err, gpk.ErrFreed) {
			c.t.Errorf("%s after Close: %v", name, err)
		}
	}
	if err := gpk.Eval(x.Add(2)); !errors.Is(err, gpk.ErrFreed) {
		c.t.Errorf("the array after Close: %v", err)
	}
	got, err := gpk.ToSlice[float32](y)
	noError(c.t, err)
	noError(c.t, allAre(got, 2))
	c.expect(unified.Empty, 1, 0)
}

// unifiedConcurrent counts in one buffer from many goroutines.
func unifiedConcurrent(t *testing.T, s *suite) {
	c := s.unified(t, true)
	before := runtime.NumGoroutine()
	const each = 50
	var group sync.WaitGroup
	var inside atomic.Int32
	for range 8 {
		group.Go(func() {
			for range each {
				err := c.b.HostWrite(func(x []float32) error {
					if inside.Add(1) != 1 {
						t.Error("two callbacks run at once")
					}
					defer inside.Add(-1)
					for i := range x {
						x[i]++
					}
					return nil
				})
				_, err2 := c.b.Device(unified.Read)
				c.b.State()
				c.b.Transfers()
				err3 := c.b.HostRead(func(x []float32) error { return allAre(x, x[0]) })
				if err := errors.Join(err, err2, err3); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	c.host(8 * each)
	noError(t, c.b.Close())
	goroutinesEnd(t, before)
}

// unifiedDropped drops buffers that were not closed.
func unifiedDropped(t *testing.T, s *suite) {
	settle(t, s)
	before, mark := s.dev.Pool().InUse, s.dev.Buffers()
	func() {
		for range 10 {
			c := s.unified(t, true)
			c.write(1)
			c.device(1)
		}
	}()
	s.nothingLeft(t, before, mark)
}

// nothingLeft collects garbage, and checks that no more bytes are in use than before.
// mark is the number of buffers at that time.
func (s *suite) nothingLeft(t *testing.T, before int64, mark uint64) {
	t.Helper()
	for range 30 { // what a cleanup drops takes another collection, and deferred errors of one array form a chain
		if deviceapi.Collect(s.dev); s.dev.Pool().InUse <= before {
			return
		}
	}
	t.Errorf("%d bytes are left over: %v", s.dev.Pool().InUse-before, s.dev.LiveBuffers(mark))
}
