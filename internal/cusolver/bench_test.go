package cusolver

import (
	ctx "context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// BenchmarkKinds times the functions among which package linalg chooses, on the device that GPK_TEST_DEVICE
// names. The matrix is copied before each call.
func BenchmarkKinds(b *testing.B) {
	name := os.Getenv("GPK_TEST_DEVICE")
	if name == "" {
		b.Skip("NOT RUN: GPK_TEST_DEVICE names no GPU")
	}
	d, err := device.Open(name)
	if err == nil {
		err = Load()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Log(Version())
	for _, dt := range []dtype.DType{dtype.Float32, dtype.Float64} {
		for _, c := range []struct {
			kind  Kind
			batch int
			sizes []int
		}{
			{Potrf, 1, []int{512, 1024, 2048, 4096}},
			{PotrfBatched, 10000, []int{32}},
			{PotrfBatched, 64, []int{256}},
			{Potrf, 64, []int{256}},
			{Getrf, 1, []int{64, 256, 1024, 4096}},
			{Geqrf, 1, []int{64, 256, 1024, 4096}},
			{Orgqr, 1, []int{4096}},
			{Syevd, 1, []int{64, 256, 512, 1024}},
			{SyevBatched, 1, []int{64, 256, 512, 1024}},
			{SyevBatched, 64, []int{32, 64}},
			{Gesvd, 1, []int{64, 256, 1024}},
			{Gesvdj, 1, []int{64, 256, 1024}},
			{Gesvdp, 1, []int{64, 256, 1024}},
		} {
			if !Supported(c.kind) {
				continue
			}
			for _, n := range c.sizes {
				b.Run(fmt.Sprintf("%v/%v/batch=%d/n=%d", c.kind, dt, c.batch, n), func(b *testing.B) { timeKind(b, d, dt, c.kind, c.batch, n) })
			}
		}
	}
}

func timeKind(b *testing.B, d *device.Device, dt dtype.DType, kind Kind, batch, n int) {
	s := d.DefaultStream()
	buffer := func(elements int) *device.Buffer {
		buf, err := d.Alloc(int64(elements*dt.Size()), s)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(buf.Free)
		return buf
	}
	r := rand.New(rand.NewPCG(1, 1))
	matrix := make([]float64, n*n)
	for i := range n {
		for j := range i {
			v := r.NormFloat64()
			matrix[i*n+j], matrix[j*n+i] = v, v
		}
		matrix[i*n+i] = 4 * math.Sqrt(float64(n)) // positive definite
	}
	raw := make([]byte, 0, batch*n*n*dt.Size())
	for range batch {
		for _, v := range matrix {
			if dt == dtype.Float32 {
				raw = binary.NativeEndian.AppendUint32(raw, math.Float32bits(float32(v)))
			} else {
				raw = binary.NativeEndian.AppendUint64(raw, math.Float64bits(v))
			}
		}
	}
	given, a, u, v, values, info := buffer(batch*n*n), buffer(batch*n*n), buffer(batch*n*n), buffer(batch*n*n), buffer(batch*n*2), buffer(batch)
	if err := d.CopyFromHost(given, 0, raw, s); err != nil {
		b.Fatal(err)
	}
	c := &Call{
		Kind: kind, Type: dt, Upper: true, Vectors: true, M: n, N: n, K: n, Batch: batch, Info: info, Sigma: make([]float64, batch),
		A: Operand{a.Addr(), n, n * n}, B: Operand{values.Addr(), n, n}, C: Operand{u.Addr(), n, n * n}, D: Operand{v.Addr(), n, n * n},
	}
	all := []*device.Buffer{a, u, v, values, info}
	once := func() {
		if err := d.Copy(a, 0, given, 0, given.Size(), s); err != nil {
			b.Fatal(err)
		}
		if err := Run(s, c, all, all); err != nil {
			b.Fatal(err)
		}
	}
	once()
	if err := s.Synchronize(ctx.Background()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		once()
		if err := s.Synchronize(ctx.Background()); err != nil {
			b.Fatal(err)
		}
	}
	out := make([]byte, 4)
	if err := d.CopyToHost(out, info, 0, s); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(int32(binary.NativeEndian.Uint32(out))), "info")
	if kind == Gesvdp {
		b.ReportMetric(c.Sigma[0], "sigma")
	}
}
