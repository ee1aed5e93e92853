package monitor_test

import (
	"fmt"
	"log"
	"time"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/serve/monitor"
)

// figures is a device whose memory the examples set: 1000 bytes.
type figures struct{ used int64 }

func (f *figures) Memory() (monitor.Memory, error) {
	return monitor.Memory{Total: 1000, Free: 1000 - f.used, InUse: f.used}, nil
}
func (f *figures) Trim() error                            { return nil }
func (f *figures) Collect()                               {}
func (f *figures) Buffers() uint64                        { return 0 }
func (f *figures) LiveBuffers(uint64) []device.LiveBuffer { return nil }

func Example() {
	var f figures // in a program: monitor.New(device.Default(), monitor.Options{})
	m := monitor.New(nil, monitor.Options{Source: &f})
	defer m.Close()
	m.OnPressure(func(s monitor.Snapshot) {
		fmt.Printf("%v: %.0f %% of %d bytes\n", s.Pressure, 100*s.Used(), s.Total)
	})
	for _, f.used = range []int64{100, 450, 700, 950} {
		m.Snapshot() // Start(ctx) takes one every second
	}
	fmt.Println(m.CanAllocate(45, 0.1), m.CanAllocate(50, 0.1))
	// Output:
	// moderate: 70 % of 1000 bytes
	// critical: 95 % of 1000 bytes
	// true false
}

// Leaks names the line that allocates buffers which are never freed.
func ExampleMonitor_Leaks() {
	d, err := device.Open("cpu")
	if err != nil {
		log.Fatal(err)
	}
	now := time.Now()
	m := monitor.New(d, monitor.Options{Now: func() time.Time { return now }})
	defer m.Close()

	model := gpk.FromSliceOn(d, make([]float32, 100_000))
	defer model.Free()
	m.Snapshot()
	var kept []*gpk.Array
	for range 3 {
		now = now.Add(100 * time.Second)
		kept = append(kept, gpk.FromSliceOn(d, make([]float32, 50_000)))
		m.Snapshot()
	}
	for _, leak := range m.Leaks() {
		for _, s := range leak.Sites {
			fmt.Println(s.Buffers, "buffers of", s.Origin)
		}
	}
	for _, a := range kept {
		a.Free()
	}
	// Output:
	// 3 buffers of FromSliceOn at monitor/example_test.go:57
}
