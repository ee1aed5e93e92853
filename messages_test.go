package gpk_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/linalg"
)

// here returns the file and line of its caller, as errors print it.
func here() string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", file[strings.LastIndex(file, "/")+1:], line)
}

// TestMessages checks what errors of common mistakes say.
func TestMessages(t *testing.T) {
	ones := func(shape ...int) *gpk.Array { return gpk.Ones(gpk.Float32, shape...) }
	freed := func() *gpk.Array { x := ones(5); x.Free(); return x }
	outside, outsideAt := ones(3, 3).Take(gpk.FromSlice([]int{0, 1, 9}), 0), here()
	captured := func(f func(x *gpk.Array) *gpk.Array) error {
		_, err := gpk.Capture([]*gpk.Array{ones(4, 4)}, func(in []*gpk.Array) []*gpk.Array { return []*gpk.Array{f(in[0])} })
		return err
	}
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"w as [in, out]":    {gpk.Linear(ones(8, 40), ones(40, 256), ones(256)).Err(), []string{here(), "Linear([8 40] float32, [40 256] float32", "w, [out, in], has rows of 256"}},
		"a bias of in":      {gpk.Linear(ones(8, 40), ones(256, 40), ones(40)).Err(), []string{here(), "[256 40] float32"}},
		"freed":             {freed().Nonzero()[0].Err(), []string{here(), "Nonzero([5] float32)"}},
		"no elements":       {ones(0, 3).Max(0).Err(), []string{here(), "[0 3] has length 0"}},
		"a slice":           {ones(3).Add([]float32{1, 2, 3}).Err(), []string{here(), "[]float32", "gpk.FromSlice"}},
		"an index array":    {ones(3).Index(gpk.FromSlice([]int{1})).Err(), []string{here(), "Take", "MaskedSelect"}},
		"steps of a half":   {gpk.ArangeStep(gpk.Int32, 0, 3, .5).Err(), []string{here(), "int32 does not hold", "0.5"}},
		"shared elements":   {ones(5).Windows(2, 0).AddInPlace(1), []string{here(), "share memory", "Clone"}},
		"values like x":     {ones(2, 3).MaskedSet(gpk.Ones(gpk.Bool, 2, 3), ones(2, 3)), []string{here(), "[2 3]; want", "to [] (", "to [n] (", "values.MaskedSelect(mask)"}},
		"other rows":        {ones(2, 3).MaskedSet(gpk.Ones(gpk.Bool, 2), ones(2, 4)), []string{here(), "[2 4]; want", "to [3] (", "to [n 3] ("}},
		"a sum of Bool":     {ones(3).Gt(0).Add(ones(3).Gt(0)).Err(), []string{here(), "Cast(gpk.Int64)", "Or"}},
		"captured Nonzero":  {captured(func(x *gpk.Array) *gpk.Array { return x.Nonzero()[0] }), []string{"messages_test.go:", "Nonzero([4 4] float32)", "Capture"}},
		"captured Unique":   {captured(func(x *gpk.Array) *gpk.Array { return x.Unique() }), []string{"messages_test.go:", "Unique([4 4] float32)", "Capture"}},
		"an earlier line":   {linalg.Solve(outside.Add(1), ones(3, 3)).Err(), []string{outsideAt, "Take(", "index 9"}},
		"IsIn of complex":   {gpk.Zeros(gpk.Complex64, 3).IsIn(gpk.Zeros(gpk.Complex64, 3)).Err(), []string{here(), "IsIn is not implemented for complex64"}},
		"CumMin of complex": {gpk.Zeros(gpk.Complex64, 3).CumMin(0).Err(), []string{here(), "CumMin is not implemented for complex64"}},
		"Unique of complex": {gpk.Zeros(gpk.Complex64, 3).Unique().Err(), []string{here(), "Unique is not implemented for complex64"}},
		"sums of Bool":      {gpk.Ones(gpk.Bool, 2).ScatterAdd(gpk.FromSlice([]int{0}), gpk.Ones(gpk.Bool), 0).Err(), []string{here(), "ScatterAdd is not implemented for bool", "Cast(gpk.Int64)"}},
		"an error in Chunk": {ones(2, 3).MatMul(ones(2, 3)).Chunk(2, 1)[1].Err(), []string{here(), "MatMul"}},
	} {
		text := fmt.Sprint(c.err)
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %q does not contain %q", name, text, w)
			}
		}
		if strings.Count(text, "gpk:") > 1 {
			t.Errorf("%s: %q has the prefix twice", name, text)
		}
	}
	if err := freed().Nonzero()[0].Err(); !errors.Is(err, gpk.ErrFreed) {
		t.Error(err)
	}
}

// TestSliceEnd checks gpk.End as the stop of a Slice.
func TestSliceEnd(t *testing.T) {
	x := gpk.Arange(gpk.Int64, 5)
	for want, got := range map[string]*gpk.Array{
		"[2 3 4]": x.Slice(0, 2, gpk.End), "[]": x.Slice(0, 5, gpk.End), "[1 3]": x.Slice(0, 1, gpk.End, 2),
		"[4 2 0]": x.Slice(0, -1, gpk.End, -2), "[0]": x.Slice(0, 0, gpk.End, -1),
	} {
		if s, err := gpk.ToSlice[int64](got); err != nil || fmt.Sprint(s) != want {
			t.Errorf("%v, %v, want %s", s, err, want)
		}
	}
	if err := x.Slice(0, -1, gpk.End, 0).Err(); !errors.Is(err, gpk.ErrShape) || !strings.Contains(err.Error(), "slice -1:End:0") {
		t.Error(err)
	}
	if err := x.Slice(0, gpk.End, 5).Err(); !errors.Is(err, gpk.ErrShape) || !strings.Contains(err.Error(), "slice End:5:1") {
		t.Error(err)
	}
}
