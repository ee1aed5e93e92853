package quantum

import (
	"context"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
)

// cudaEngine is the engine of a GPU: kernels that interpret programs build all states at
// once, and gpk's kernels compute products.
type cudaEngine struct {
	poison  bool // fill K with NaN first, to verify that all of it is written
	unfused bool // do not use fusedSmallGram
}

// Limits of one batch of states.
const (
	prepareBytes = 256 << 20 // bytes of angles and slots of samples whose states are built at once
	buildBytes   = 8 << 30   // bytes of these states
)

// source is a set of samples on a GPU.
type source struct {
	buf         *device.Buffer
	addr        uint64
	dt          gpk.DType
	row, col    int
	n, features int
	stream      *device.Stream
}

func (x *samples) source() (source, error) {
	a := x.array
	if t := a.Stream(); t != nil && t.Capturing() {
		return source{}, fmt.Errorf("%w: quantum kernels and states inside a Capture: the host looks at samples and results; call it outside", gpk.ErrUnsupported)
	}
	buf, err := a.Buffer()
	if err != nil {
		return source{}, err
	}
	t := a.Strides()
	s := source{buf: buf, addr: buf.Addr() + uint64(a.Offset()*a.DType().Size()), dt: a.DType(), row: t[0], col: t[1], n: x.n, features: x.features, stream: a.Stream()}
	if s.stream == nil {
		s.stream = buf.Device().DefaultStream()
	}
	return s, nil
}

// deviceCode is the code of a circuit on a GPU, with its tables.
type deviceCode struct {
	*circuitCode
	dev    *device.Device
	gpu    *gpuKernels
	dt     gpk.DType      // Float32 or Float64: type of slots, tables and the parts of amplitudes
	buf    *device.Buffer // buffer of the upload blob
	tables *device.Buffer // nil if there are none

	places   *codePlaces // offsets in the upload blob
	made     bool        // whether the tables have been computed
	launches *int64
	most     int64 // maximum bytes of angles and slots at once
}

// at returns the address of a part of the code.
func (d *deviceCode) at(place uint64) uint64 { return d.buf.Addr() + place }

// states returns the type of the states.
func (d *deviceCode) states() gpk.DType {
	switch {
	case d.real:
		return d.dt
	case d.dt == gpk.Float64:
		return gpk.Complex128
	}
	return gpk.Complex64
}

// newDeviceCode returns code for a GPU in an upload blob. It can be used once buf is the
// uploadBlob's buffer; free releases the memory of tables.
func newDeviceCode(dev *device.Device, gpu *gpuKernels, c *circuitCode, dt gpk.DType, places *codePlaces, launches *int64) *deviceCode {
	return &deviceCode{circuitCode: c, dev: dev, gpu: gpu, dt: dt, places: places, launches: launches, most: prepareBytes}
}

// allocTables allocates the tables, which the first build computes.
func (d *deviceCode) allocTables(s *device.Stream) (err error) {
	if d.width > 0 {
		d.tables, err = d.dev.Alloc(int64(d.width)*int64(d.dt.Size()), s)
	}
	return err
}

func (d *deviceCode) free() {
	if d == nil {
		return
	}
	if d.tables != nil {
		d.tables.Free()
		d.tables = nil
	}
}

// slotBytes returns the size of a sample's angles and slots.
func (d *deviceCode) slotBytes() int64 {
	return int64(d.nAngles)*8 + int64(d.stride)*int64(d.dt.Size())
}

// prepare checks the samples lo … hi-1 and computes their angles and slots. Value v of
// sample i is stored at out[(i-lo) sampleStride + v valueStride]. The caller frees angles.
func (d *deviceCode) prepare(s *device.Stream, x source, lo, hi int, notes *device.Buffer, noteAt uint64, out *device.Buffer, sampleStride, valueStride int) (angles *device.Buffer, err error) {
	n := hi - lo
	if angles, err = d.dev.Alloc(int64(n)*int64(d.nAngles)*8+8, s); err != nil {
		return nil, err
	}
	*d.launches++
	err = d.gpu.angles.Launch(s, []*device.Buffer{x.buf, d.buf}, []*device.Buffer{angles, notes}, anglesArgs{
		XType: int32(x.dt), First: int64(lo), N: int64(n), Features: int64(x.features), X: x.addr, Row: int64(x.row), Col: int64(x.col), Angles: int32(d.nAngles),
		Code: d.at(d.places.angles), Coefs: d.at(d.places.coefs), Out: angles.Addr(), Status: noteAt,
	})
	if err == nil {
		*d.launches++
		err = d.gpu.slots.Launch(s, []*device.Buffer{d.buf, angles}, []*device.Buffer{out}, slotsArgs{
			Type: int32(d.dt), N: int64(n), Slots: int32(d.nSlots), Code: d.at(d.places.slots), Fixed: d.at(d.places.fixed), Angles: angles.Addr(), NAngles: int32(d.nAngles),
			Out: out.Addr(), SampleStride: int64(sampleStride), ValueStride: int64(valueStride),
		})
	}
	if err != nil {
		angles.Free()
		return nil, err
	}
	return angles, nil
}

// build writes the states of the samples lo … hi-1 to the start of dst. If dst is nil, it only records the angles that are
// not finite.
func (d *deviceCode) build(ctx context.Context, s *device.Stream, x source, lo, hi int, notes *device.Buffer, noteAt uint64, dst *device.Buffer) error {
	row := int64(d.states().Size()) << d.qubits
	step := max(int(min(d.most/d.slotBytes(), buildBytes/row)), 1)
	for at := lo; at < hi; at += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.buildSome(s, x, at, min(at+step, hi), notes, noteAt, dst, int64(at-lo)*row); err != nil {
			return err
		}
	}
	return nil
}

// buildSome builds states from the given byte of dst on, unless dst is nil.
func (d *deviceCode) buildSome(s *device.Stream, x source, lo, hi int, notes *device.Buffer, noteAt uint64, dst *device.Buffer, from int64) error {
	n := hi - lo
	slots, err := d.dev.Alloc(int64(n)*int64(d.stride)*int64(d.dt.Size()), s)
	if err != nil {
		return err
	}
	defer slots.Free()
	angles, err := d.prepare(s, x, lo, hi, notes, noteAt, slots, d.stride, 1)
	if err != nil {
		return err
	}
	defer angles.Free()
	if dst == nil {
		return nil
	}
	to := dst.Addr() + uint64(from)
	pass := func(p passCode, code uint64, n int, buf *device.Buffer, state uint64) error {
		tables := uint64(0)
		reads := []*device.Buffer{d.buf, slots, angles}
		if d.tables != nil {
			tables = d.tables.Addr()
			reads = append(reads, d.tables)
		}
		args := passArgs{
			Type: int32(d.states()), N: int64(n), Qubits: int32(d.qubits), Local: int32(p.local), Samples: int32(d.samples), State: state, Code: code,
			Slots: slots.Addr(), SlotStride: int64(d.stride), Angles: angles.Addr(), NAngles: int32(d.nAngles), Tables: tables,
		}
		for i, at := range p.at {
			args.Position[i] = uint8(at)
		}
		*d.launches++
		return d.gpu.pass.Launch(s, reads, []*device.Buffer{buf}, args)
	}
	if !d.made { // the constant angles are the same for all samples
		for i, t := range d.circuitCode.tables {
			for k, p := range t.passes {
				if err := pass(p, d.at(d.places.tables[i][k]), 1, d.tables, d.tables.Addr()+uint64(t.offset*d.dt.Size())); err != nil {
					return err
				}
			}
		}
		d.made = true
	}
	for i, p := range d.passes {
		if err := pass(p, d.at(d.places.passes[i]), n, dst, to); err != nil {
			return err
		}
	}
	if d.scaled() {
		return d.scale(s, n, dst, to, angles, slots)
	}
	return nil
}

// Kernels write notes to the GPU's memory, and the host reads them once at the end. For x and for y they hold the first
// element and the first angle that are not finite, and for every tile the sum, the sum of squares and the largest
// |diagonal - 1|.
const (
	nothingFound = math.MaxUint64
	noteWords    = 2
	tileWords    = 3
	maxNotes     = 1 << 15 // tiles with separate notes
)

// newNotes appends empty notes for sets of samples and for tiles.
func newNotes(p *uploadBlob, sets, tiles int) {
	p.align()
	p.add(slices.Repeat([]uint64{nothingFound}, noteWords*sets))
	p.add(make([]uint64, tileWords*tiles))
}

// finite starts a check of x for values that are not finite.
func finite(gpu *gpuKernels, s *device.Stream, x source, notes *device.Buffer, at uint64) error {
	return gpu.angles.Launch(s, []*device.Buffer{x.buf}, []*device.Buffer{notes}, anglesArgs{
		XType: int32(x.dt), N: int64(x.n), Features: int64(x.features), X: x.addr, Row: int64(x.row), Col: int64(x.col), Status: at,
	})
}

// found converts the notes of a set of samples to an error.
func found(x *samples, notes []uint64, angles []Angle) error {
	if at := notes[0]; at != nothingFound {
		r, c := int(at)/x.features, int(at)%x.features
		v, err := gpk.ToSlice[float64](x.array.Slice(0, r, r+1).Slice(1, c, c+1).Cast(gpk.Float64))
		if err != nil {
			return err
		}
		return notFinite(x.name, x.origin(r), c, v[0])
	}
	if at := notes[1]; at != nothingFound {
		return angleTable{angles: angles}.describe(int(at)%len(angles), x.name, x.origin(int(at)/len(angles)))
	}
	return nil
}

func (cudaEngine) states(ctx context.Context, dev *device.Device, p *program, x *samples, dt gpk.DType) (*gpk.Array, error) {
	whole := *p
	whole.real = false
	src, err := x.source()
	if err != nil {
		return nil, err
	}
	row := int64(dt.Size()) << min(p.qubits, 50)
	if p.qubits > 50 || int64(x.n) > 1<<56/row { // exceeds any memory; the number of bytes would overflow an int64
		return nil, fmt.Errorf("%w: states [%d, 2^%d] %v", gpk.ErrOutOfMemory, x.n, p.qubits, dt)
	}
	buf, err := dev.Alloc(int64(x.n)*row, src.stream)
	if err != nil {
		return nil, err
	}
	if err := buildStates(ctx, dev, encode(&whole, false), src, x, dt, buf); err != nil {
		buf.Free()
		return nil, err
	}
	return array.FromBuffer(buf, dt, x.n, 1<<p.qubits), nil
}

func buildStates(ctx context.Context, dev *device.Device, c *circuitCode, src source, x *samples, dt gpk.DType, buf *device.Buffer) error {
	if x.n == 0 {
		return ctx.Err()
	}
	gpu, err := kernelsOf(dev)
	if err != nil {
		return err
	}
	var launches int64
	part := gpk.Float32
	if dt == gpk.Complex128 {
		part = gpk.Float64
	}
	s := src.stream
	var p uploadBlob
	newNotes(&p, 1, 0)
	places := p.code(c)
	d := newDeviceCode(dev, gpu, c, part, &places, &launches)
	defer d.free()
	notes, err := dev.Alloc(int64(len(p)), s)
	if err != nil {
		return err
	}
	defer notes.Free()
	if err := dev.CopyFromHost(notes, 0, p, s); err != nil {
		return err
	}
	d.buf = notes
	if err := d.allocTables(s); err != nil {
		return err
	}
	if err := d.build(ctx, s, src, 0, x.n, notes, notes.Addr(), buf); err != nil {
		return err
	}
	if err := s.Synchronize(ctx); err != nil {
		return err
	}
	var b [8 * noteWords]byte
	if err := dev.CopyToHost(b[:], notes, 0, s); err != nil {
		return err
	}
	return found(x, wordsOf(b[:]), c.all)
}

func wordsOf(b []byte) []uint64 {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}
