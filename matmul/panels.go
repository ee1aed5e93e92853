package matmul

import (
	"errors"
	"sync"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/cpu"
)

// panels is a Packed's operand in the form in which the CPU's micro-kernels read it. The
// first product that reads panels makes them: products of few rows never do. They take as
// much memory as the operand, a float32 or float64 matrix.
type panels struct {
	mu    sync.Mutex
	buf   *device.Buffer // nil: not made
	freed bool
}

func (k *panels) free() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.buf != nil {
		k.buf.Free()
	}
	k.buf, k.freed = nil, true
}

func (k *panels) bytes() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.buf == nil {
		return 0
	}
	return k.buf.Size()
}

// panelsFor returns the panels of a product's right operand if the product reads them, else
// nil. st is the first stack of the product. No panels are made if there is no memory for
// them, or during a capture: the operand may not be computed yet.
func (p *Packed) panelsFor(s *device.Stream, product *Product, st *stack, offsets [][3]int) (*device.Buffer, error) {
	if p == nil || p.View.Buffer == nil || p.View.Layout.NDim() != 2 || st.batch > 1 && st.b.batchStride != 0 {
		return nil, nil
	}
	for _, at := range offsets {
		if at[1] != p.View.Layout.Offset {
			return nil, nil
		}
	}
	b := cpu.Operand{RS: st.b.rowStride, CS: st.b.colStep}
	k, n := st.b.rows, st.b.cols
	if !cpu.KeepsPanels(product.B.DType, st.d.rows, n, k, b) {
		return nil, nil
	}
	kept := &p.panels
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if kept.buf != nil || kept.freed || s.Capturing() {
		return kept.buf, nil
	}
	dev := s.Device()
	buf, err := dev.Alloc(cpu.PanelBytes(product.B.DType, k, n), s)
	if errors.Is(err, device.ErrOutOfMemory) { // the product packs the operand itself
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = dev.Launch(s, []*device.Buffer{p.View.Buffer}, []*device.Buffer{buf}, func(int, uint64) error {
		b.Data = pointer(p.View, p.View.Layout.Offset)
		cpu.PackPanels(product.B.DType, k, n, b, buf.Ptr())
		return nil
	})
	if err != nil {
		buf.Free()
		return nil, err
	}
	kept.buf = buf
	return buf, nil
}
