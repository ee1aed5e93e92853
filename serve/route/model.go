package route

import (
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

const (
	// Data leave the GPU only if the CPU is more than stayGain times as fast. A prediction may be 30 %
	// off, and the next operation needs the data too.
	stayGain = 2

	// memoryShare is the fraction of a GPU's free memory that one operation may need.
	memoryShare = 0.8
)

// Model predicts the cost of operations and copies on this machine. It is not modified after it is made,
// and is safe for use by many goroutines.
type Model struct {
	host, gpu *device.Device // gpu is nil if there is none
	rates     [2]rates       // rates of the CPU and of the GPU
	up, down  curve          // copies to the GPU and back, by their bytes

	available func() (int64, error) // free bytes of the GPU
}

// The indices of the devices in Model.rates.
const onCPU, onGPU = 0, 1

// rates holds the curves of one device.
type rates [classes][types]curve

// newModel returns a model without rates. gpu may be nil.
func newModel(host, gpu *device.Device) *Model {
	m := &Model{host: host, gpu: gpu}
	if gpu != nil {
		m.available = gpu.Available
	}
	return m
}

// Launch returns the time of the smallest operation, an addition of two numbers, on each device. gpu is 0
// without a GPU.
func (m *Model) Launch() (cpu, gpu time.Duration) {
	small := Op{Name: "Add", Elements: 1, DType: dtype.Float32}
	c, _ := m.rates[onCPU].predict(&small, elementwise)
	g, _ := m.rates[onGPU].predict(&small, elementwise)
	return duration(c), duration(g)
}

// Decide returns the device on which an operation should run.
func (m *Model) Decide(op Op) Decision {
	d := Decision{Device: m.host, Reason: NoGPU}
	if op.Resident.Kind() != device.CPU && op.Resident != m.gpu {
		return Decision{Device: op.Resident, Reason: Elsewhere}
	}
	c := op.classOf()
	bytes := op.bytes()
	cpu, measured := m.rates[onCPU].predict(&op, c)
	d.OnCPU = duration(cpu)
	if m.gpu == nil {
		return d
	}
	gpu, measuredGPU := m.rates[onGPU].predict(&op, c)
	d.OnGPU = duration(gpu)
	if op.Resident == m.gpu {
		m.fromGPU(&d, &op, c, cpu, gpu, m.down.at(bytes), measured && measuredGPU)
	} else {
		m.fromHost(&d, bytes, c, cpu, gpu, m.up.at(bytes), measured && measuredGPU)
	}
	return d
}

// fromGPU decides for data that are on the GPU. Times are in seconds.
func (m *Model) fromGPU(d *Decision, op *Op, c class, cpu, gpu, copied float64, measured bool) {
	d.Device, d.Copy = m.gpu, duration(copied)
	switch {
	case !measured:
		d.Reason = Unmeasured
	case gpu > stayGain*(cpu+copied):
		d.Device, d.Reason = m.host, MovedToCPU
	case m.fits(op.result()): // the operands are on the GPU already
		d.Reason = Resident
	case c == order: // it needs all elements at the same time
		d.Device, d.Reason = m.host, NoMemory
	default:
		d.Reason = Tiles
	}
}

// fromHost decides for data that are on the host. Times are in seconds.
func (m *Model) fromHost(d *Decision, bytes float64, c class, cpu, gpu, copied float64, measured bool) {
	d.Device, d.Copy = m.host, duration(copied)
	fits := m.fits(bytes)
	switch {
	case !measured:
		d.Reason = Unmeasured
	case !fits && gpu+copied < cpu && c != order:
		d.Device, d.Reason = m.gpu, Tiles
	case !fits:
		d.Reason = NoMemory
	case gpu+copied < cpu:
		d.Device, d.Reason = m.gpu, FasterOnGPU
	default:
		d.Reason = FasterOnCPU
	}
}

// fits reports whether a number of bytes is at most 0.8 of the GPU's free memory. It reports false if
// that is unknown.
func (m *Model) fits(bytes float64) bool {
	free, err := m.available()
	return err == nil && bytes <= memoryShare*float64(free)
}

// predict returns the seconds of an operation, and whether its class was measured for its type. For an
// operation with ragged lengths it uses the class of ragged operations, if that was measured. A product
// takes at least the time in which an element-wise operation reads and writes as many bytes: products of
// few rows are bound by memory.
func (r *rates) predict(op *Op, c class) (seconds float64, measured bool) {
	if int(op.DType) >= types {
		return 0, false
	}
	by := &r[c][op.DType]
	// isRagged divides, which is slow, so it is called only if the ragged class was measured. On the CPU
	// it never is.
	if ragged := &r[c.ragged()][op.DType]; ragged.measured() && op.isRagged(c) {
		by = ragged
	}
	if !by.measured() {
		return 0, false
	}
	seconds = by.at(op.work(c))
	if c == product && op.Bytes > 0 {
		seconds = max(seconds, r[elementwise][op.DType].at(op.bytes()))
	}
	return seconds, true
}

// duration converts seconds, at most a year.
func duration(seconds float64) time.Duration {
	const most = 365 * 24 * 3600
	return time.Duration(min(seconds, most) * float64(time.Second))
}
