package gpktest

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/matmul"
)

// testErrors checks that operations with invalid arguments return errors with the right
// cause, and that the errors name this file.
func testErrors(t *testing.T, s *suite) {
	f := func(shape ...int) *gpk.Array { return gpk.Ones(gpk.Float32, shape...) }
	freed := f(3)
	freed.Free()
	freed.Free()
	for what, c := range map[string]struct {
		a    *gpk.Array
		want error
	}{
		"length":         {gpk.FromSlice([]float32{1, 2, 3}, 2, 2), gpk.ErrShape},
		"negative":       {gpk.Zeros(gpk.Float32, -1), gpk.ErrShape},
		"negative slice": {gpk.FromSlice([]float32{}, -1, 0), gpk.ErrShape},
		"overflow":       {gpk.Zeros(gpk.Float64, math.MaxInt/2, 3), gpk.ErrShape},
		"overflow 2":     {gpk.Zeros(gpk.Int8, 1<<(strconv.IntSize/2), 1<<(strconv.IntSize/2)), gpk.ErrShape},
		"type":           {gpk.Zeros(gpk.DType(99), 2), gpk.ErrDType},
		"inner":          {f(2, 3).MatMul(f(2, 3)), gpk.ErrShape},
		"0-d product":    {f().MatMul(f(2)), gpk.ErrShape},
		"batch":          {f(2, 3, 4).MatMul(f(3, 4, 5)), gpk.ErrShape},
		"mixed":          {f(2, 2).MatMul(gpk.Ones(gpk.Float64, 2, 2)), gpk.ErrDType},
		"mixed add":      {f(2).Add(gpk.Ones(gpk.Int32, 2)), gpk.ErrDType},
		"bool product":   {gpk.Ones(gpk.Bool, 2, 2).MatMul(gpk.Ones(gpk.Bool, 2, 2)), gpk.ErrDType},
		"bool add":       {gpk.Ones(gpk.Bool, 2).Add(true), gpk.ErrDType},
		"fraction":       {gpk.Ones(gpk.Int32, 2).Add(1.5), gpk.ErrDType},
		"overflow add":   {gpk.Ones(gpk.Int8, 2).Add(128), gpk.ErrDType},
		"complex":        {f(2).Mul(1i), gpk.ErrDType},
		"string":         {f(2).Mul("2"), gpk.ErrDType},
		"integer Div":    {gpk.Ones(gpk.Int32, 2).Div(2), gpk.ErrDType},
		"complex GELU":   {gpk.Ones(gpk.Complex64, 2).GELU(), gpk.ErrDType},
		"TF32":           {gpk.Ones(gpk.Float64, 2, 2).MatMul(gpk.Ones(gpk.Float64, 2, 2), gpk.TF32), gpk.ErrDType},
		"output":         {f(2, 2).MatMul(f(2, 2), matmul.WithOutput(gpk.Float16)), gpk.ErrDType},
		"broadcast":      {f(2, 3).Add(f(2)), gpk.ErrShape},
		"reshape":        {f(2, 3).Reshape(4), gpk.ErrShape},
		"slice":          {f(2, 3).Slice(2, 0, 1), gpk.ErrShape},
		"slice range":    {f(2, 3).Slice(0, 0, 3), gpk.ErrShape},
		"transpose":      {f(2, 3).Transpose(0, 0), gpk.ErrShape},
		"sum axis":       {f(2, 3).Sum(2), gpk.ErrShape},
		"sum twice":      {f(2, 3).Sum(0, -2), gpk.ErrShape},
		"concat":         {gpk.Concat(0, f(2, 3), f(2, 4)), gpk.ErrShape},
		"concat nothing": {gpk.Concat(0), gpk.ErrShape},
		"bias":           {gpk.Linear(f(2, 3), f(4, 3), f(3)), gpk.ErrShape},
		"weight":         {gpk.Linear(f(2, 3), f(3), nil), gpk.ErrShape},
		"freed":          {freed.Add(1), gpk.ErrFreed},
		"freed product":  {freed.MatMul(f(3)), gpk.ErrFreed},
		"nil":            {f(2).Add((*gpk.Array)(nil)), gpk.ErrShape},
		"nil receiver":   {(*gpk.Array)(nil).Add(1), gpk.ErrShape},
		"zero value":     {new(gpk.Array).T(), gpk.ErrShape},
		"no array":       {gpk.Sub(1, 2), gpk.ErrDType},
		"full":           {gpk.Full(gpk.Uint8, -1, 2), gpk.ErrDType},
		"arange":         {gpk.Arange(gpk.Int8, 129), gpk.ErrDType},
		"sticky":         {f(2, 3).MatMul(f(2, 3)).Add(1).T().Sum(), gpk.ErrShape},
		"kernel":         {forced(s, f(2, 2)), gpk.ErrUnsupported},
	} {
		err := c.a.Err()
		if err == nil {
			err = gpk.Eval(c.a)
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
			continue
		}
		var oe *gpk.OpError
		if !errors.As(err, &oe) {
			t.Errorf("%s: %v is no OpError", what, err)
		} else if !strings.Contains(oe.Site, "errors.go:") && what != "nil receiver" {
			t.Errorf("%s: the error names %q, not this file", what, oe.Site)
		}
		if _, err := gpk.ToSlice[float32](c.a); !errors.Is(err, c.want) {
			t.Errorf("%s at the boundary: %v", what, err)
		}
	}
	if _, err := gpk.ToSlice[float64](f(2)); !errors.Is(err, gpk.ErrDType) {
		t.Errorf("ToSlice of another type: %v", err)
	}
	if err := gpk.ToSliceInto(make([]float32, 3), f(2)); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("ToSliceInto of another length: %v", err)
	}
	if _, err := gpk.Item[float32](f(2)); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("Item of two: %v", err)
	}
	if err := gpk.Into(f(2), f(3)); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("Into another shape: %v", err)
	}
	for _, d := range []*device.Device{nil, {}} {
		if err := f(2).To(d).Err(); !errors.Is(err, gpk.ErrDevice) {
			t.Errorf("to a device that Open has not made: %v", err)
		}
	}
	if _, err := device.Open("cuda:63"); !errors.Is(err, gpk.ErrNoGPU) && !errors.Is(err, gpk.ErrDevice) {
		t.Errorf("a GPU that is not there: %v", err)
	}
	if cpu, err := device.Open("cpu"); err == nil && cpu != s.dev {
		if err := f(2).Add(f(2).To(cpu)).Err(); !errors.Is(err, gpk.ErrDevice) {
			t.Errorf("two devices: %v", err)
		}
	}
	// Free gives every view's memory back.
	a := f(2, 3)
	v := a.T()
	a.Free()
	if err := gpk.Eval(v); !errors.Is(err, gpk.ErrFreed) {
		t.Errorf("a view of freed memory: %v", err)
	}
}

// forced asks for a kernel that does not exist; the CPU, which has no kernels
// by name, refuses too.
func forced(_ *suite, a *gpk.Array) *gpk.Array {
	return a.MatMul(a, matmul.WithKernel("no such kernel"))
}

// testPrecision checks who decides, and that it reaches the fused functions.
func testPrecision(t *testing.T, s *suite) {
	a, b := s.random(gpk.Float32, 96, 512), s.random(gpk.Float32, 512, 96)
	products := map[string]func(opts ...matmul.Option) *gpk.Array{
		"MatMul": func(opts ...matmul.Option) *gpk.Array { return a.array().MatMul(b.array(), opts...) },
		"packed": func(opts ...matmul.Option) *gpk.Array { return a.array().MatMul(gpk.Pack(b.array()), opts...) },
		"Linear": func(opts ...matmul.Option) *gpk.Array { return gpk.Linear(a.array(), b.array().T(), nil, opts...) },
	}
	full := func(x *gpk.Array) bool {
		t.Helper()
		got := evaluate(t, x)
		var all, ref []complex128
		for i := range 96 {
			for j := range 96 {
				var want float64
				for p := range 512 {
					want += real(a.values[i*512+p]) * real(b.values[p*96+j])
				}
				all, ref = append(all, got.values[i*96+j]), append(ref, complex(want, 0))
			}
		}
		e := frobenius(all, ref, 0)
		if e > 4e-4 {
			t.Errorf("error %.3g", e)
		}
		return e < 1e-5
	}
	cpu := s.dev.Kind() == device.CPU // always float32 there
	for what, f := range products {
		if full(f()) != cpu {
			t.Errorf("%s: the default is not TF32", what)
		}
		if !full(f(gpk.FullPrecision)) {
			t.Errorf("%s: FullPrecision is not", what)
		}
		old := gpk.SetPrecision(gpk.FullPrecision)
		if !full(f()) {
			t.Errorf("%s: SetPrecision(FullPrecision) does not reach it", what)
		}
		if full(f(gpk.TF32)) != cpu {
			t.Errorf("%s: the option does not beat SetPrecision", what)
		}
		gpk.SetPrecision(old)
		t.Setenv("GPK_NO_TF32", "1")
		if !full(f()) {
			t.Errorf("%s: GPK_NO_TF32 does not reach it", what)
		}
		gpk.SetPrecision(gpk.TF32)
		if full(f()) != cpu {
			t.Errorf("%s: SetPrecision does not beat GPK_NO_TF32", what)
		}
		gpk.SetPrecision(old)
		t.Setenv("GPK_NO_TF32", "")
	}
}

// testMemory exceeds a limit of 1 MB many times, and checks that no memory is leaked.
func testMemory(t *testing.T, s *suite) {
	settle(t, s)
	before := s.dev.Pool().InUse
	old := s.dev.Pool().Limit
	s.dev.SetMemoryLimit(before + 1<<20)
	defer s.dev.SetMemoryLimit(old)
	times := 1000
	if quick() {
		times = 50
	}
	for i := range times {
		a := gpk.Zeros(gpk.Uint8, 2<<20)
		if err := gpk.Eval(a); !errors.Is(err, gpk.ErrOutOfMemory) {
			t.Fatalf("array %d of 2 MB within 1 MB: %v", i, err)
		}
	}
	if after := s.dev.Pool().InUse; after > before {
		t.Errorf("%d bytes are lost", after-before)
	}
	got := read(t, gpk.Ones(gpk.Float32, 100).Sum())
	if got.values[0] != 100 {
		t.Errorf("afterwards a sum is %v", got.values[0])
	}
}

// settle waits until the memory of arrays that earlier tests dropped is returned to the
// pool.
func settle(t *testing.T, s *suite) {
	t.Helper()
	last := int64(-1)
	for range 20 {
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
		if err := s.dev.Trim(); err != nil {
			t.Fatal(err)
		}
		now := s.dev.Pool().InUse
		if now == last {
			return
		}
		last = now
	}
}

// testGoroutines multiplies from 64 goroutines at once.
func testGoroutines(t *testing.T, s *suite) {
	a, b := s.random(gpk.Float32, 64, 96), s.random(gpk.Float32, 96, 80)
	x, y := a.array(), b.array()
	// Another layout may take another kernel, which sums in another order.
	column, row := read(t, x.MatMul(y.T().Contiguous().T())), read(t, x.MatMul(y))
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	for i := range 64 {
		wg.Go(func() {
			for j := range 10 {
				c, want := x.MatMul(y), row
				if i%2 == 0 {
					c, want = x.Add(0).MatMul(y.T().Contiguous().T()), column
				}
				data, err := gpk.ToSlice[float32](c)
				if err != nil {
					errs <- err
					return
				}
				for p, v := range data {
					if float64(v) != real(want.values[p]) {
						errs <- fmt.Errorf("goroutine %d, round %d: element %d is %v, want %v", i, j, p, v, want.values[p])
						return
					}
				}
				c.Free()
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	goroutinesEnd(t, before)
}

// goroutinesEnd waits a minute until no more goroutines are there than before.
func goroutinesEnd(t *testing.T, before int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}

// testTemporaries evaluates and drops arrays without Free: the limit must
// hold.
func testTemporaries(t *testing.T, s *suite) {
	settle(t, s)
	count, elements := 100_000, 16<<20 // 64 MB of float32
	if s.dev.Kind() == device.CPU {
		elements = 16 << 10 // 64 KB
		old := s.dev.Pool().Limit
		s.dev.SetMemoryLimit(s.dev.Pool().InUse + 64<<20)
		defer s.dev.SetMemoryLimit(old)
	}
	if quick() {
		count = 3000
	}
	for i := range count {
		if err := gpk.Eval(gpk.Full(gpk.Float32, i%7, elements)); err != nil {
			t.Fatalf("temporary %d: %v", i, err)
		}
		if p := s.dev.Pool(); p.Limit > 0 && p.InUse+p.Cached > p.Limit {
			t.Fatalf("temporary %d: %d in use and %d idle, above the limit %d", i, p.InUse, p.Cached, p.Limit)
		}
	}
}

// shapeErrors checks that operands whose shapes do not fit are errors on the line of the
// call.
func (s *suite) shapeErrors(t *testing.T) {
	x := gpk.Ones(gpk.Float32, 4, 6)
	bad := gpk.Ones(gpk.Float32, 2).Reshape(3)
	for what, c := range map[string]struct {
		op   string
		got  []*gpk.Array
		want error
	}{
		"Split by 4":             {"Split", x.Split(4, 1), gpk.ErrShape},
		"Split by 0":             {"Split", x.Split(0, 1), gpk.ErrShape},
		"Split of axis 2":        {"Split", x.Split(1, 2), gpk.ErrShape},
		"SplitAt falling":        {"SplitAt", x.SplitAt(1, 3, 2), gpk.ErrShape},
		"SplitAt outside":        {"SplitAt", gpk.SplitAt(x, 1, 7), gpk.ErrShape},
		"Chunk by 0":             {"Chunk", x.Chunk(0, 0), gpk.ErrShape},
		"Tile by -1":             {"Tile", []*gpk.Array{x.Tile(2, -1)}, gpk.ErrShape},
		"Tile too long":          {"Tile", []*gpk.Array{x.Tile(math.MaxInt, math.MaxInt)}, gpk.ErrShape},
		"Roll of axis 2":         {"Roll", []*gpk.Array{gpk.Roll(x, 1, 2)}, gpk.ErrShape},
		"MoveAxis to 2":          {"MoveAxis", []*gpk.Array{x.MoveAxis(0, 2)}, gpk.ErrShape},
		"SwapAxes of -3":         {"SwapAxes", []*gpk.Array{x.SwapAxes(-3, 0)}, gpk.ErrShape},
		"Diag of three axes":     {"Diag", []*gpk.Array{gpk.Diag(x.Unsqueeze(0))}, gpk.ErrShape},
		"Diag outside":           {"Diag", []*gpk.Array{x.Diag(7)}, gpk.ErrShape},
		"Diag twice":             {"Diag", []*gpk.Array{x.Diag(1, 2)}, gpk.ErrShape},
		"Tril of one axis":       {"Tril", []*gpk.Array{x.Slice(0, 0, 1).Squeeze(0).Tril()}, gpk.ErrShape},
		"Meshgrid of two axes":   {"Meshgrid", gpk.Meshgrid(x, x), gpk.ErrShape},
		"BroadcastArrays":        {"BroadcastArrays", gpk.BroadcastArrays(x, x.T()), gpk.ErrShape},
		"FullLike of a fraction": {"FullLike", []*gpk.Array{gpk.FullLike(x, 0.5, gpk.Int8)}, gpk.ErrDType},
		"OnesLike of two types":  {"OnesLike", []*gpk.Array{gpk.OnesLike(x, gpk.Int8, gpk.Bool)}, gpk.ErrShape},
		"OneHot of floats":       {"OneHot", []*gpk.Array{gpk.OneHot(x, 3, gpk.Int8)}, gpk.ErrDType},
		"OneHot of -1":           {"OneHot", []*gpk.Array{gpk.OneHot(gpk.Zeros(gpk.Int8), -1, gpk.Int8)}, gpk.ErrShape},
		"ArangeStep by 0":        {"ArangeStep", []*gpk.Array{gpk.ArangeStep(gpk.Int8, 0, 1, 0)}, gpk.ErrShape},
		"ArangeStep to NaN":      {"ArangeStep", []*gpk.Array{gpk.ArangeStep(gpk.Float32, 0, math.NaN(), 1)}, gpk.ErrShape},
		"ArangeStep by half":     {"ArangeStep", []*gpk.Array{gpk.ArangeStep(gpk.Int8, 0, 2, 0.5)}, gpk.ErrDType},
		"ArangeStep of int8":     {"ArangeStep", []*gpk.Array{gpk.ArangeStep(gpk.Int8, 100, 130, 1)}, gpk.ErrDType},
		"Windows too long":       {"Windows", []*gpk.Array{x.Windows(7, 1)}, gpk.ErrShape},
		"Windows by 0":           {"Windows", []*gpk.Array{x.Windows(2, 1, 0)}, gpk.ErrShape},
		"AsStrided outside":      {"AsStrided", []*gpk.Array{x.AsStrided([]int{5, 6}, []int{6, 1})}, gpk.ErrShape},
		"AsStrided before":       {"AsStrided", []*gpk.Array{x.Slice(0, 1, 4).AsStrided([]int{1}, []int{1}, -1)}, gpk.ErrShape},
		"AsStrided far":          {"AsStrided", []*gpk.Array{x.AsStrided([]int{2}, []int{math.MinInt})}, gpk.ErrShape},
		"AsStrided of one":       {"AsStrided", []*gpk.Array{x.AsStrided([]int{2}, nil)}, gpk.ErrShape},
		"a failed operand":       {"Reshape", bad.Split(3, 0), gpk.ErrShape},
		"a nil operand":          {"Tile", []*gpk.Array{gpk.Tile(nil, 2)}, gpk.ErrShape},
	} {
		s.refusedAs(t, what, c.op, c.got, c.want)
	}
}

// refusedAs checks that arrays carry an error of an operation, on a line of this package.
func (s *suite) refusedAs(t *testing.T, what, op string, got []*gpk.Array, want error) {
	t.Helper()
	if len(got) == 0 {
		t.Errorf("%s: no array carries the error", what)
	}
	for _, a := range got {
		err := a.Err()
		var oe *gpk.OpError
		if !errors.Is(err, want) || !errors.As(err, &oe) {
			t.Errorf("%s: %v, want %v", what, err, want)
			return
		}
		if oe.Op != op || !strings.HasPrefix(oe.Site, "gpktest/") || strings.Contains(oe.Site, "_gen.go") {
			t.Errorf("%s: the error is of %s at %s: %v", what, oe.Op, oe.Site, err)
		}
	}
}
