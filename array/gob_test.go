package array_test

import (
	"bytes"
	"encoding/gob"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestGob writes arrays of every type inside of a value, and reads them back bit by bit.
func TestGob(t *testing.T) {
	type model struct {
		Name          string
		Weights, None *gpk.Array
		All           map[string]*gpk.Array
	}
	nan := math.Float32frombits(0x7fc12345) // keeps its payload
	data := []float32{nan, float32(math.Inf(-1)), float32(math.Copysign(0, -1)), 0.1, math.MaxFloat32, math.SmallestNonzeroFloat32}
	m := model{Name: "m", Weights: gpk.FromSlice(data, 2, 3).T(), All: map[string]*gpk.Array{}}
	for _, dt := range []gpk.DType{gpk.Float64, gpk.Float16, gpk.BFloat16, gpk.Int8, gpk.Uint8, gpk.Int32, gpk.Int64, gpk.Bool, gpk.Complex64, gpk.Complex128} {
		m.All[dt.String()] = gpk.Arange(gpk.Int64, 6).Cast(dt).Reshape(3, 2)
	}
	m.All["0-d"], m.All["empty"] = gpk.Full(gpk.Int64, int64(math.MinInt64)), gpk.Zeros(gpk.Float32, 2, 0, 3)
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(&m); err != nil {
		t.Fatal(err)
	}
	var back model
	if err := gob.NewDecoder(&b).Decode(&back); err != nil || back.None != nil || back.Name != "m" {
		t.Fatal(back.None, err)
	}
	got, err := gpk.ToSlice[float32](back.Weights)
	if err != nil || !slices.Equal(back.Weights.Shape(), []int{3, 2}) {
		t.Fatal(back.Weights.Shape(), err)
	}
	for i, from := range []int{0, 3, 1, 4, 2, 5} {
		if math.Float32bits(got[i]) != math.Float32bits(data[from]) {
			t.Errorf("element %d is %v, want %v", i, got[i], data[from])
		}
	}
	if len(back.All) != len(m.All) {
		t.Errorf("%d arrays", len(back.All))
	}
	for name, w := range m.All {
		a := back.All[name]
		if a.DType() != w.DType() || !slices.Equal(a.Shape(), w.Shape()) {
			t.Errorf("%s has become %v %v", name, a.DType(), a.Shape())
		} else if same, err := gpk.Item[bool](a.Eq(w).All()); err != nil || !same {
			t.Errorf("%s has become %v (%v)", name, a, err)
		}
	}
}

// TestGobErrors encodes arrays without elements, and decodes bytes that are not an array.
func TestGobErrors(t *testing.T) {
	var op *gpk.OpError
	failed := gpk.Ones(gpk.Float32, 2).Add(gpk.Ones(gpk.Float32, 3))
	if err := gob.NewEncoder(new(bytes.Buffer)).Encode(failed); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("an array with an error: %v", err)
	}
	freed := gpk.Ones(gpk.Float32, 2)
	freed.Free()
	if err := gob.NewEncoder(new(bytes.Buffer)).Encode(freed); !errors.Is(err, gpk.ErrFreed) || !errors.As(err, &op) || !strings.Contains(op.Site, "gob_test.go") {
		t.Errorf("a freed array: %v", err)
	}
	good, err := gpk.FromSlice([]int32{1, 2, 3}).GobEncode()
	if err != nil {
		t.Fatal(err)
	}
	a := gpk.Ones(gpk.Float32, 2)
	for what, c := range map[string]struct {
		data []byte
		want error
	}{
		"nothing":         {nil, gpk.ErrDType},
		"another version": {append([]byte{2}, good[1:]...), gpk.ErrDType},
		"no type":         {[]byte("\x01\x05int33\x01\x03"), gpk.ErrDType},
		"a long name":     {[]byte("\x01\xffint32"), gpk.ErrDType},
		"no shape":        {[]byte("\x01\x05int32"), gpk.ErrDType},
		"many axes":       {[]byte("\x01\x05int32\xff\xff\xff\xff\x7f"), gpk.ErrDType},
		"half a shape":    {[]byte("\x01\x05int32\x02\x03"), gpk.ErrDType},
		"a long axis":     {[]byte("\x01\x05int32\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), gpk.ErrShape},
		"many elements":   {[]byte("\x01\x05int32\x02\xff\xff\xff\xff\xff\x7f\xff\xff\xff\xff\xff\x7f"), gpk.ErrShape},
		"an element less": {good[:len(good)-4], gpk.ErrShape},
		"a byte more":     {append(slices.Clone(good), 0), gpk.ErrShape},
		"no bool":         {[]byte("\x01\x04bool\x01\x01\x02"), gpk.ErrDType},
	} {
		if err := a.GobDecode(c.data); !errors.Is(err, c.want) || !errors.As(err, &op) || !strings.Contains(op.Site, "gob_test.go") {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	if v, err := gpk.ToSlice[float32](a); err != nil || v[1] != 1 {
		t.Errorf("what could not be read has changed its target: %v (%v)", v, err)
	}
	var none *gpk.Array
	if err := none.GobDecode(good); !errors.Is(err, gpk.ErrDType) {
		t.Errorf("into nil: %v", err)
	}
	// Damaged bytes are an error or an array.
	rng := testrand.New(t)
	for range 3000 {
		damaged := slices.Clone(good)
		for range 1 + rng.IntN(3) {
			damaged[rng.IntN(len(damaged))] = byte(rng.Uint32())
		}
		b := new(gpk.Array)
		if err := b.GobDecode(damaged[:rng.IntN(len(damaged)+1)]); err == nil && b.Err() != nil {
			t.Fatalf("%x: %v", damaged, b.Err())
		}
	}
}
