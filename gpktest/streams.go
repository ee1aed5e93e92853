package gpktest

import (
	"context"
	"errors"
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// testStreams runs dependent work on two streams and checks the order.
func testStreams(t *testing.T, s *suite) {
	t.Run("Closed", func(t *testing.T) { testClosedStream(t, s) })
	s1, err := s.dev.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s1.Close()
	s2, err := s.dev.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s2.Close()
	n := 1 << 20
	for range 20 {
		a := gpk.Full(gpk.Float32, 1, n)
		if err := gpk.Eval(a); err != nil {
			t.Fatal(err)
		}
		b := a.On(s1).Mul(2)
		for range 10 {
			b = b.Add(1)
		}
		c := b.On(s2).Mul(3)
		if err := gpk.Eval(b, c); err != nil {
			t.Fatal(err)
		}
		noError(t, b.AddInPlace(1)) // must wait for what s2 reads
		d := a.Add(c)
		got, err := gpk.ToSlice[float32](d)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			if v != 1+12*3 {
				t.Fatalf("element %d is %v, want 37", i, v)
			}
		}
		for _, x := range []*gpk.Array{a, b, c, d} {
			x.Free()
		}
	}
	e1, err := s.dev.NewEvent()
	if err != nil {
		t.Fatal(err)
	}
	e2, err := s.dev.NewEvent()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s1.Record(e1), gpk.Eval(gpk.Ones(gpk.Float32, n).On(s1).Mul(2)), s1.Record(e2), s1.Synchronize(context.Background())); err != nil {
		t.Fatal(err)
	}
	if took, err := e2.Elapsed(e1); err != nil || took < 0 {
		t.Errorf("elapsed %v, %v", took, err)
	}
}

// testClosedStream uses arrays of a stream after the stream is closed: stored and pending
// arrays, views and a graph.
func testClosedStream(t *testing.T, s *suite) {
	stream, err := s.dev.NewStream()
	noError(t, err)
	x := s.random(gpk.Float32, 6, 5)
	a := x.array().On(stream)
	stored, pending, written := a.Mul(2), a.Add(1), a.Sub(1)
	noError(t, gpk.Eval(stored, written))
	g, err := gpk.Capture([]*gpk.Array{stored}, func(in []*gpk.Array) []*gpk.Array { return []*gpk.Array{in[0].Add(3)} })
	noError(t, err)
	defer g.Free()
	noError(t, stream.Close())
	if err := stream.Synchronize(t.Context()); !errors.Is(err, gpk.ErrDevice) {
		t.Errorf("waiting for a closed stream: %v", err)
	}
	noError(t, g.Replay())
	noError(t, written.AddInPlace(1))
	noError(t, written.Slice(1, 0, 2).MulInPlace(4))
	for _, c := range []struct {
		what string
		a    *gpk.Array
		want func(v float32, column int) float32
	}{
		{"stored", stored, func(v float32, _ int) float32 { return v * 2 }},
		{"stored, transposed twice", stored.T().Contiguous().T(), func(v float32, _ int) float32 { return v * 2 }},
		{"pending", pending, func(v float32, _ int) float32 { return v + 1 }},
		{"new", stored.Sub(pending), func(v float32, _ int) float32 { return v*2 - (v + 1) }},
		{"replayed", g.Outputs()[0], func(v float32, _ int) float32 { return v*2 + 3 }},
		{"written", written, func(v float32, column int) float32 {
			if v = v - 1 + 1; column < 2 {
				v *= 4
			}
			return v
		}},
	} {
		for i, v := range read(t, c.a).values {
			want := c.want(float32(real(x.values[i])), i%5)
			if float32(real(v)) != want {
				t.Fatalf("%s: element %d is %v, want %v", c.what, i, v, want)
			}
		}
	}
}
