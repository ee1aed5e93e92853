package device

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/cutlass"
)

func TestList(t *testing.T) {
	install(t, machine(&testDriver{infos: []Info{h200(0), h200(1)}}, nil))
	list := List()
	if len(list) != 3 || list[0].Kind != CPU || list[1].Kind != CUDA || list[2].Index != 1 {
		t.Errorf("List: %v", list)
	}
	if list[0].Name == "" || list[0].MultiProcessors < 1 {
		t.Errorf("the CPU is not described: %+v", list[0])
	}
	install(t, machine(nil, nil))
	if list := List(); len(list) != 1 || list[0].Kind != CPU {
		t.Errorf("List without a GPU: %v", list)
	}
}

func TestOpen(t *testing.T) {
	unknown := h200(2)
	unknown.SM = 97
	driver := &testDriver{infos: []Info{h200(0), h200(1), unknown}, openErr: map[int]error{0: errors.New("GPU has fallen off the bus")}}
	install(t, machine(driver, nil))
	for _, c := range []struct {
		name, opens string
		err         error
	}{
		{"cpu", "cpu", nil},
		{"CPU", "cpu", nil},
		{"cpu:0", "cpu", nil},
		{"cuda", "cuda:1", nil}, // the first that works
		{"cuda:1", "cuda:1", nil},
		{" cuda:1 ", "cuda:1", nil},
		{"cuda:0", "", ErrNoGPU},
		{"cuda:2", "", ErrDevice},
		{"cuda:3", "", ErrDevice},
		{"cuda:-1", "", ErrDevice},
		{"cuda:x", "", ErrDevice},
		{"cpu:1", "", ErrDevice},
		{"rocm", "", ErrDevice},
		{"", "", ErrDevice},
	} {
		d, err := Open(c.name)
		if c.err != nil {
			is(t, err, c.err)
			if d != nil {
				t.Errorf("Open(%q) gave a device and an error", c.name)
			}
			continue
		}
		if err != nil || d.String() != c.opens {
			t.Errorf("Open(%q): %v, %v; want %s", c.name, d, err, c.opens)
			continue
		}
		if again, _ := Open(c.name); again != d {
			t.Errorf("Open(%q) gave two devices", c.name)
		}
	}
	if _, err := Open("cuda:2"); !strings.Contains(err.Error(), "9.7") {
		t.Errorf("an unknown compute capability: %v", err)
	}
}

func TestOpenWithoutGPU(t *testing.T) {
	for _, c := range []struct {
		name   string
		system *system
		says   []string
	}{
		{"no driver", machine(nil, nil), []string{"libcuda.so.1"}},
		{"no GPU", machine(&testDriver{}, nil), []string{"CUDA_VISIBLE_DEVICES"}},
		{"no library", func() *system {
			s := machine(&testDriver{infos: []Info{h200(0)}}, nil)
			s.library = func() (*cutlass.Library, error) {
				return nil, &cutlass.NotFoundError{Tried: []cutlass.Attempt{{Path: "/a/libgpk.so", From: "GPK_LIB", Err: errors.New("truncated")}}}
			}
			return s
		}(), []string{"NVIDIA H200", "/a/libgpk.so", "truncated", "gpk setup"}},
		{"unusable library", func() *system {
			s := machine(&testDriver{infos: []Info{h200(0), h200(1)}}, nil)
			s.usable = func(*cutlass.Library, Info) error { return errors.New("needs NVIDIA driver 580") }
			return s
		}(), []string{"cuda:0", "cuda:1", "driver 580"}},
		{"GPUs fail", machine(&testDriver{infos: []Info{h200(0)}, openErr: map[int]error{0: errors.New("exclusive mode")}}, nil), []string{"exclusive mode"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			install(t, c.system)
			d, err := Open("cuda")
			is(t, err, ErrNoGPU)
			if d != nil {
				t.Errorf("a device: %v", d)
			}
			explained := Explain()
			for _, word := range c.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("the error lacks %q: %v", word, err)
				}
				if !strings.Contains(explained, word) {
					t.Errorf("Explain lacks %q:\n%s", word, explained)
				}
			}
			if d := Default(); d.Kind() != CPU || d.Err() != nil {
				t.Errorf("the default is %v: %v", d, d.Err())
			}
		})
	}
}

func TestDefault(t *testing.T) {
	two := &testDriver{infos: []Info{h200(0), h200(1)}}
	for _, c := range []struct {
		driver     driver
		env, wants string
	}{
		{two, "", "cuda:0"},
		{two, "cpu", "cpu"},
		{two, "cuda:1", "cuda:1"},
		{nil, "", "cpu"},
	} {
		s := machine(c.driver, map[string]string{"GPK_DEVICE": c.env})
		install(t, s)
		if got := Default(); got.String() != c.wants || got.Err() != nil {
			t.Errorf("GPK_DEVICE=%q: %v (%v), want %s", c.env, got, got.Err(), c.wants)
		}
		if first, second := Default(), Default(); first != second {
			t.Error("Default changes")
		}
	}

	install(t, machine(two, nil))
	host, err := Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	if old := SetDefault(host); old != nil {
		t.Errorf("a default before the first: %v", old)
	}
	if current.gpus.probed {
		t.Error("the driver was started for a program that asked for the CPU")
	}
	if Default() != host {
		t.Error("SetDefault does not last")
	}
	if old := SetDefault(nil); old != host {
		t.Errorf("the old default is %v", old)
	}
	if d := Default(); d.String() != "cuda:0" {
		t.Errorf("after SetDefault(nil): %v", d)
	}
}

// A GPK_DEVICE that cannot be opened gives a device on which everything
// answers with that error.
func TestBrokenDevice(t *testing.T) {
	install(t, machine(nil, map[string]string{"GPK_DEVICE": "cuda:7"}))
	d := Default()
	ctx := context.Background()
	s := d.DefaultStream()
	_, _, memory := d.Memory()
	_, allocate := d.Alloc(8, s)
	_, allocateNil := d.Alloc(8, nil)
	_, newStream := d.NewStream()
	_, wrapStream := d.WrapStream(1)
	_, newEvent := d.NewEvent()
	_, wrap := Wrap(d, 1, 1, nil)
	_, _, pinned := d.AllocPinned(8)
	_, end := s.EndCapture()
	other := cpu(t, 0)
	b := alloc(t, other, 8, nil)
	for name, err := range map[string]error{
		"Err": d.Err(), "Memory": memory, "Alloc": allocate, "Alloc(nil)": allocateNil, "NewStream": newStream, "WrapStream": wrapStream,
		"NewEvent": newEvent, "Wrap": wrap, "AllocPinned": pinned, "EndCapture": end, "BeginCapture": s.BeginCapture(),
		"Trim": d.Trim(), "Synchronize": d.Synchronize(ctx), "Stream.Synchronize": s.Synchronize(ctx), "Close": s.Close(),
		"Record": s.Record(nil), "Wait": s.Wait(nil),
		"Launch":       d.Launch(s, nil, nil, func(int, uint64) error { t.Error("launched"); return nil }),
		"CopyFromHost": d.CopyFromHost(b, 0, nil, s), "CopyToHost": d.CopyToHost(nil, b, 0, s), "Copy": d.Copy(b, 0, b, 0, 1, s),
	} {
		if !errors.Is(err, ErrNoGPU) || !strings.Contains(err.Error(), "GPK_DEVICE=cuda:7") {
			t.Errorf("%s: %v", name, err)
		}
	}
	d.SetMemoryLimit(1)
	if d.Pool() != (PoolStats{}) || d.Capabilities() != (Capabilities{}) || d.Library() != nil || d.String() != "cuda:7" {
		t.Error("a broken device has something")
	}
	if text := Explain(); !strings.Contains(text, "GPK_DEVICE: cuda:7") || !strings.Contains(text, "libcuda.so.1") {
		t.Errorf("Explain:\n%s", text)
	}
}

func TestMemoryLimitOfEnvironment(t *testing.T) {
	driver := &testDriver{infos: []Info{h200(0)}}
	install(t, machine(driver, map[string]string{"GPK_MEMORY_LIMIT": "3MiB"}))
	for _, name := range []string{"cpu", "cuda"} {
		d, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Pool().Limit; got != 3<<20 {
			t.Errorf("%s has a limit of %d", name, got)
		}
	}
	install(t, machine(driver, map[string]string{"GPK_MEMORY_LIMIT": "plenty"}))
	for _, name := range []string{"cpu", "cuda"} {
		_, err := Open(name)
		is(t, err, ErrDevice)
		if err == nil || !strings.Contains(err.Error(), "GPK_MEMORY_LIMIT") || !strings.Contains(err.Error(), "plenty") {
			t.Errorf("%s with a bad limit: %v", name, err)
		}
	}
	if d := Default(); !errors.Is(d.Err(), ErrDevice) {
		t.Errorf("the default with a bad limit: %v", d.Err())
	}
}

func TestExplain(t *testing.T) {
	install(t, machine(&testDriver{infos: []Info{h200(0)}}, nil))
	text := Explain()
	for _, word := range []string{"default device: cuda:0", "GPK_DEVICE: not set", "NVIDIA H200", "SM 90", "works", "580.65.06", "cpu: "} {
		if !strings.Contains(text, word) {
			t.Errorf("Explain lacks %q:\n%s", word, text)
		}
	}
	if lines := strings.Count(text, "\n"); lines < 5 {
		t.Errorf("Explain has %d lines:\n%s", lines, text)
	}
}

func TestArchServes(t *testing.T) {
	for _, c := range []struct {
		arch string
		sm   int
		want bool
	}{
		{"90a", 90, true},
		{"90a", 80, false},
		{"90a", 100, false},
		{"90a", 120, false},
		{"80", 80, true},
		{"80", 86, true},
		{"80", 89, true},
		{"80", 90, false},
		{"80", 100, true},
		{"80", 120, true},
		{"80", 75, false},
		{"89", 86, false},
		{"86", 89, true},
		{"", 80, false},
		{"x", 80, false},
	} {
		if got := archServes(c.arch, c.sm); got != c.want {
			t.Errorf("code for %q serves SM %d: %v", c.arch, c.sm, got)
		}
	}
}

func TestCapabilities(t *testing.T) {
	type row struct{ fp16, tf32, bf16, fp8, async, tma, wgmma, tcgen05, clusters bool }
	const y, n = true, false
	for sm, want := range map[int]row{
		70: {y, n, n, n, n, n, n, n, n}, 72: {y, n, n, n, n, n, n, n, n}, 75: {y, n, n, n, n, n, n, n, n},
		80: {y, y, y, n, y, n, n, n, n}, 86: {y, y, y, n, y, n, n, n, n}, 87: {y, y, y, n, y, n, n, n, n},
		89: {y, y, y, y, y, n, n, n, n}, 90: {y, y, y, y, y, y, y, n, y},
		100: {y, y, y, y, y, y, n, y, y}, 103: {y, y, y, y, y, y, n, y, y},
		120: {y, y, y, y, y, y, n, n, y}, 121: {y, y, y, y, y, y, n, n, y},
	} {
		c := CapabilitiesOf(sm)
		got := row{c.FP16, c.TF32, c.BF16, c.FP8, c.AsyncCopy, c.TMA, c.WGMMA, c.TCGen05, c.Clusters}
		if got != want || c.SM != sm || !c.TensorCore || c.SharedMemoryPerBlock < 64<<10 {
			t.Errorf("SM %d: %+v", sm, c)
		}
	}
	for _, sm := range []int{0, -1, 37, 60, 61, 71, 88, 91, 99, 119, 130} {
		if c := CapabilitiesOf(sm); c != (Capabilities{}) {
			t.Errorf("SM %d is not in the table, but has %+v", sm, c)
		}
	}

	// What the driver reports goes before the table.
	info := h200(0)
	info.ClusterLaunch, info.SharedMemoryPerBlock = false, 100<<10
	d := newFake(info, info.capabilities())
	if c := d.Capabilities(); c.Clusters || !c.TMA || !c.WGMMA || c.SharedMemoryPerBlock != 100<<10 || c.MultiProcessors != 132 || c.L2Bytes != 50<<20 {
		t.Errorf("with the driver's word: %+v", c)
	}
}

func TestKindString(t *testing.T) {
	if CPU.String() != "cpu" || CUDA.String() != "cuda" || Kind(9).String() != "Kind(9)" {
		t.Error("names of kinds")
	}
}
