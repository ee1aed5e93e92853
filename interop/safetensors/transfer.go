package safetensors

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// job is the transfer of a tensor to a buffer.
type job struct {
	tensor
	buf *device.Buffer
}

// piece is a part of a job: n bytes, off bytes from its beginning.
type piece struct {
	*job
	off, n int64
}

// transfer is a list of jobs that several goroutines process, piece by piece.
type transfer struct {
	dev   *device.Device
	slots *staging // nil on the CPU

	mu   sync.Mutex
	jobs []job // jobs that have pieces left
	off  int64 // offset of the next piece of the first job
	err  error // the first error
}

// smallBytes is the number of bytes up to which a copy to the device does not make its
// caller wait.
const smallBytes = 64 << 10

// run returns when every job is done, or with the first error.
func (t *transfer) run() error {
	pieces := int64(0)
	for _, j := range t.jobs {
		pieces += (j.buf.Size() + slotBytes - 1) / slotBytes
	}
	workers := min(runtime.GOMAXPROCS(0), maxSlots)
	if t.slots != nil {
		workers = max(workers, 2) // one goroutine can read while another's piece is copied
	}
	var group sync.WaitGroup
	for range min(int64(workers), pieces) - 1 {
		group.Go(t.work)
	}
	t.work()
	group.Wait()
	return t.err
}

// next returns the next piece. It reports false if there is none, or if another piece has
// failed.
func (t *transfer) next() (piece, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.jobs) > 0 && t.err == nil {
		j := &t.jobs[0]
		if n := min(slotBytes, j.buf.Size()-t.off); n > 0 {
			p := piece{j, t.off, n}
			t.off += n
			return p, true
		}
		t.jobs, t.off = t.jobs[1:], 0
	}
	return piece{}, false
}

func (t *transfer) work() {
	var small []byte
	for p, ok := t.next(); ok; p, ok = t.next() {
		if small == nil && p.n <= smallBytes && t.slots != nil {
			small = make([]byte, smallBytes)
		}
		if err := t.move(p, small); err != nil {
			t.mu.Lock()
			if t.err == nil {
				t.err = p.in.wrap(p.name, err)
			}
			t.mu.Unlock()
		}
	}
}

// move reads a piece. For a GPU it stages the piece in small or in a slot.
func (t *transfer) move(p piece, small []byte) error {
	if t.slots == nil {
		dst := unsafe.Slice((*byte)(unsafe.Add(p.buf.Ptr(), p.off)), p.n)
		err := p.read(dst)
		runtime.KeepAlive(p.buf)
		return err
	}
	if p.n > smallBytes {
		s, err := t.slots.take()
		if err != nil {
			return err
		}
		defer t.slots.give(s)
		small = s.b
	}
	if err := p.read(small[:p.n]); err != nil {
		return err
	}
	return t.dev.CopyFromHost(p.buf, p.off, small[:p.n], nil)
}

// read reads the bytes of a piece and converts them to elements of an array.
func (p *piece) read(dst []byte) error {
	err := p.readAt(dst, p.off)
	if errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("%w: the file was closed", gpk.ErrFreed)
	}
	if err == nil {
		fromFile(dst, formats[p.format].dt)
	}
	return err
}

// wrap adds the tensor and the file to an error.
func (s *shard) wrap(name string, err error) error {
	return fmt.Errorf("%s: tensor %s: %w", s.path, short(name), err)
}
