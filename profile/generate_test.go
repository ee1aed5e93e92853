package profile

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// generated describes a random report.
type generated struct {
	steps   int
	devices int     // GPUs; 0: the CPU alone
	slower  float64 // factor of MatMul's time; 0 is 1
}

// newRandom prints the seed of a test's random numbers.
func newRandom(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 7))
}

// kinds of operations of a training step: the time on a GPU, and the spread around it.
var stepOperations = []struct {
	name, kernel, site, dtype string
	shape                     []int
	time                      time.Duration
	flops                     int64
}{
	{"Take", "gather_rows", "train/embed.go:31", "bfloat16", []int{4096, 768}, 12 * time.Microsecond, 0},
	{"MatMul", "sm90_bf16_128x256_coop", "train/model.go:88", "bfloat16", []int{4096, 3072}, 95 * time.Microsecond, 2 * 4096 * 768 * 3072},
	{"Add.GELU", "chain_1f3a", "train/model.go:89", "bfloat16", []int{4096, 3072}, 21 * time.Microsecond, 0},
	{"MatMul", "sm90_bf16_128x128_pp", "train/model.go:90", "bfloat16", []int{4096, 768}, 88 * time.Microsecond, 2 * 4096 * 768 * 3072},
	{"LayerNorm", "row_reduce_norm", "train/model.go:92", "bfloat16", []int{4096, 768}, 14 * time.Microsecond, 0},
	{"Softmax", "row_reduce_softmax", "train/attention.go:57", "bfloat16", []int{12, 512, 512}, 17 * time.Microsecond, 0},
	{"Sum", "reduce_tree", "train/loss.go:20", "float32", nil, 6 * time.Microsecond, 0},
}

// makeReport makes a report such as a training loop gives: on each GPU a stream
// computes and another copies; a goroutine a GPU starts the work.
func makeReport(r *rand.Rand, g generated) *Report {
	m := &maker{r: r, g: g, report: &Report{
		Format: Format, Name: fmt.Sprintf("train, %d devices", g.devices),
		Started: time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC),
		Host:    Host{GoVersion: "go1.26.8", OS: "linux", Arch: "amd64", CPUs: 16},
	}}
	for d := range max(g.devices, 1) {
		m.device(d)
	}
	return m.report
}

type maker struct {
	r      *rand.Rand
	g      generated
	report *Report
	copied time.Duration // when the copying stream is free
}

func (m *maker) around(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (1 + 0.15*m.r.ExpFloat64()))
}

// device adds one device's work.
func (m *maker) device(n int) {
	rep, cpu := m.report, m.g.devices == 0
	m.copied = 0
	dev := Device{Name: "cpu"}
	if !cpu {
		dev = Device{Name: fmt.Sprintf("cuda:%d", n), Model: "NVIDIA H200", Driver: "580.65.06", MemoryBytes: 143 << 30}
	}
	goroutine := uint64(18 + n)
	var host, free time.Duration // when the host and the computing stream are free
	inUse, held := int64(6<<30), int64(7<<30)
	for step := range m.g.steps {
		began := host
		span := m.span("step", goroutine, 0)
		forward := m.span("forward", goroutine, span)
		if !cpu {
			free = max(free, m.transfer(HostToDevice, dev.Name, goroutine, forward, host, 3<<20, 22))
			host += 9 * time.Microsecond
		}
		for i := range stepOperations {
			k := &stepOperations[i]
			o := Operation{
				Name: k.name, Kernel: k.kernel, Site: k.site, DType: k.dtype, Shape: k.shape, Device: dev.Name, Stream: 1, Goroutine: goroutine,
				Span: forward, Start: host, Host: m.around(5 * time.Microsecond), Flops: k.flops, Bytes: 3 * 2 * 4096 * 768,
			}
			took := m.around(k.time)
			if k.name == "MatMul" && m.g.slower > 0 {
				took = time.Duration(float64(took) * m.g.slower)
			}
			if cpu {
				o.Kernel, o.Stream, o.Host = "", 0, took*60
			} else {
				at := max(free, host+8*time.Microsecond)
				o.OnDevice, o.Time = &at, &took
				free = at + took
			}
			host += o.Host + 2*time.Microsecond
			rep.Operations = append(rep.Operations, o)
		}
		rep.Spans[forward-1].Start, rep.Spans[forward-1].Duration = began, host-began
		if !cpu && step%8 == 7 {
			free = m.transfer(DeviceToHost, dev.Name, goroutine, span, free, 4096, 0.8)
			host = free
		}
		inUse = max(inUse+int64(m.r.IntN(1<<28))-1<<27, 1<<30)
		held = max(held, inUse+1<<29)
		rep.Memory = append(rep.Memory, MemoryUse{dev.Name, host, inUse, held}, MemoryUse{dev.Name, host + time.Microsecond, inUse + 3<<29, held + 1<<30})
		host += 3 * time.Microsecond
		rep.Spans[span-1].Start, rep.Spans[span-1].Duration = began, host-began
	}
	peak := int64(9 << 30)
	dev.PeakBytes = &peak
	dev.Streams = []Stream{{ID: 1}, {ID: 2}}
	rep.Devices = append(rep.Devices, dev)
	rep.Duration = max(rep.Duration, host, free)
	rep.Allocations = append(rep.Allocations,
		Allocation{"weights", "train/model.go:40", dev.Name, 148, 4 << 30, 4 << 30, 4 << 30},
		Allocation{"MatMul", "train/model.go:88", dev.Name, int64(2000 + m.g.steps), int64(m.g.steps) << 26, 0, 1 << 26},
	)
	rep.Graphs = &Graphs{Captures: 1, Replays: int64(m.g.steps)}
	rep.Kernels = &Kernels{Hits: int64(7 * m.g.steps), Compiled: 2, Time: 3 * time.Millisecond}
}

// span adds a span whose times are set later, and returns its ID.
func (m *maker) span(name string, goroutine uint64, parent int) int {
	id := len(m.report.Spans) + 1
	m.report.Spans = append(m.report.Spans, Region{ID: id, Parent: parent, Name: name, Goroutine: goroutine})
	return id
}

// transfer adds a copy at a rate in GB/s, and returns when it ends.
func (m *maker) transfer(kind TransferKind, device string, goroutine uint64, span int, at time.Duration, bytes int64, rate float64) time.Duration {
	took := m.around(time.Duration(float64(bytes) / rate))
	on := max(at+6*time.Microsecond, m.copied)
	m.copied = on + took
	m.report.Transfers = append(m.report.Transfers, Transfer{
		Kind: kind, Device: device, Stream: 2, Goroutine: goroutine, Span: span, Bytes: bytes,
		Start: at, Host: m.around(7 * time.Microsecond), OnDevice: &on, Time: &took,
	})
	return on + took
}

// hostileName would end a script, a tag, an attribute or a style if it were not escaped.
const hostileName = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`{{.}}<!--]]>\u2028\x1b[2J\t|"

// hostile makes a report whose every text is hostile.
func hostile(r *rand.Rand) *Report {
	rep := makeReport(r, generated{steps: 2, devices: 1})
	rep.Name = hostileName
	rep.Host = Host{GoVersion: hostileName, OS: hostileName, Arch: hostileName}
	d := &rep.Devices[0]
	d.Name, d.Model, d.Driver = hostileName, hostileName, hostileName
	for i := range rep.Operations {
		o := &rep.Operations[i]
		o.Name, o.Kernel, o.Site, o.DType, o.Device = hostileName, hostileName, hostileName, hostileName, hostileName
	}
	for i := range rep.Spans {
		rep.Spans[i].Name = hostileName
	}
	for i := range rep.Transfers {
		rep.Transfers[i].Device = hostileName
	}
	for i := range rep.Memory {
		rep.Memory[i].Device = hostileName
	}
	for i := range rep.Allocations {
		a := &rep.Allocations[i]
		a.Name, a.Site, a.Device = hostileName, hostileName, hostileName
	}
	return rep
}
