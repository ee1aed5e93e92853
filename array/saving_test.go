package array

import (
	"runtime"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/dtype"
)

// tallRows and tallColumns are the shape of the arrays that these tests write row by row.
const tallRows, tallColumns = 4096, 64

// tall returns a stored array of tallRows rows; row i is full of i.
func tall(columns int) *Array {
	data := make([]float32, tallRows*columns)
	for i := range data {
		data[i] = float32(i / columns)
	}
	return FromSlice(data, tallRows, columns)
}

// TestRowWrites writes every row, with a pending reader between the writes. The writes save
// at most the rows' bytes, and rebuilding takes at most as much again. Readers that are kept
// read the contents of before the write.
func TestRowWrites(t *testing.T) {
	columns := tallColumns
	if *long {
		columns = 1 << 30 / (4 * tallRows) // 1 GiB in all
	}
	defer eager.Store(eager.Swap(false))
	const written = -1
	for name, c := range map[string]struct {
		kept bool
		read func(w *Array, i int) *Array
		want func(i int) float32 // the elements of the reader made before row i is written
	}{
		"collected, all":        {false, func(w *Array, _ int) *Array { return w.Mul(2) }, nil},
		"dropped, this row":     {false, func(w *Array, i int) *Array { return w.Slice(0, i, i+1).Mul(2) }, nil},
		"dropped, another row":  {false, func(w *Array, i int) *Array { return w.Slice(0, (i+1)%tallRows, (i+1)%tallRows+1).Mul(2) }, nil},
		"kept, this row":        {true, func(w *Array, i int) *Array { return w.Slice(0, i, i+1).Mul(2) }, func(i int) float32 { return float32(2 * i) }},
		"kept, the next row":    {true, func(w *Array, i int) *Array { return w.Slice(0, (i+1)%tallRows, (i+1)%tallRows+1).Mul(2) }, func(i int) float32 { return 2 * float32((i+1)%tallRows) }},
		"kept, the row before":  {true, func(w *Array, i int) *Array { j := max(i-1, 0); return w.Slice(0, j, j+1).Mul(2) }, func(int) float32 { return 2 * written }},
		"kept, a row far ahead": {true, func(w *Array, i int) *Array { j := min(i+100, tallRows-1); return w.Slice(0, j, j+1).Mul(2) }, func(i int) float32 { return 2 * float32(min(i+100, tallRows-1)) }},
	} {
		t.Run(name, func(t *testing.T) {
			runtime.GC() // readers that another case has dropped
			w := tall(columns)
			sched := schedulerOf(w.on())
			before := sched.savedBytes()
			var readers []*Array
			for i := range tallRows {
				r := c.read(w, i)
				if name == "collected, all" && i%32 == 0 {
					runtime.GC() // a dropped array that is not collected is computed once 64 others are pending
				}
				if c.kept {
					readers = append(readers, r)
				}
				must(t, w.Slice(0, i, i+1).CopyFrom(written))
			}
			for i, r := range readers {
				want := c.want(i)
				if name == "kept, the row before" && i == 0 {
					want = 0
				} else if name == "kept, the next row" && i == tallRows-1 {
					want = 2 * written
				}
				got, err := ToSlice[float32](r)
				if err != nil || len(got) != columns || slices.Min(got) != want || slices.Max(got) != want {
					t.Fatalf("reader %d: %v, %v; want %v", i, got, err, want)
				}
			}
			rows := float64(4 * tallRows * columns)
			if n := sched.savedBytes() - before; float64(n) > 2.1*rows {
				t.Errorf("%d bytes saved, %.2f times the rows'", n, float64(n)/rows)
			}
			got, err := ToSlice[float32](w)
			if err != nil || slices.Min(got) != written || slices.Max(got) != written {
				t.Errorf("the rows are from %v to %v, %v", slices.Min(got), slices.Max(got), err)
			}
			checkInvariants(t, w)
		})
	}
}

// TestWritesBesideReaders checks that a write saves the elements that it overwrites if
// pending readers may read them, and saves nothing if they read others.
func TestWritesBesideReaders(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	const rows, columns = 8, 6
	row := func(a *Array, i int) *Array { return a.Slice(0, i, i+1) }
	column := func(a *Array, i int) *Array { return a.Slice(1, i, i+1) }
	for name, c := range map[string]struct {
		read, write func(w *Array) *Array
		saved       int64 // elements
	}{
		"another row":           {func(w *Array) *Array { return row(w, 2) }, func(w *Array) *Array { return row(w, 3) }, 0},
		"the same row":          {func(w *Array) *Array { return row(w, 2) }, func(w *Array) *Array { return row(w, 2) }, columns},
		"another column":        {func(w *Array) *Array { return column(w, 2) }, func(w *Array) *Array { return column(w, 3) }, 0},
		"the same column":       {func(w *Array) *Array { return column(w, 2) }, func(w *Array) *Array { return column(w, 2) }, rows},
		"a row of a column":     {func(w *Array) *Array { return column(w, 2) }, func(w *Array) *Array { return row(w, 3) }, columns},
		"a column of a row":     {func(w *Array) *Array { return row(w, 2) }, func(w *Array) *Array { return column(w, 3) }, rows},
		"boxes apart":           {func(w *Array) *Array { return w.Slice(0, 0, 4).Slice(1, 0, 3) }, func(w *Array) *Array { return w.Slice(0, 2, 6).Slice(1, 3, 6) }, 0},
		"boxes that meet":       {func(w *Array) *Array { return w.Slice(0, 0, 4).Slice(1, 0, 3) }, func(w *Array) *Array { return w.Slice(0, 3, 6).Slice(1, 2, 6) }, 3 * 4},
		"transposed, apart":     {func(w *Array) *Array { return column(w.T(), 2) }, func(w *Array) *Array { return row(w, 3) }, 0},
		"transposed, that meet": {func(w *Array) *Array { return column(w.T(), 2) }, func(w *Array) *Array { return row(w, 2) }, columns},
		"backwards, apart":      {func(w *Array) *Array { return w.Flip(0, 1).Slice(0, 0, 2) }, func(w *Array) *Array { return w.Slice(0, 0, 6) }, 0},
		"backwards, that meet":  {func(w *Array) *Array { return w.Flip(0, 1).Slice(0, 0, 2) }, func(w *Array) *Array { return w.Slice(0, 5, 7) }, 2 * columns},
	} {
		t.Run(name, func(t *testing.T) {
			data := make([]float32, rows*columns)
			for i := range data {
				data[i] = float32(i)
			}
			w := FromSlice(data, rows, columns)
			want, err := ToSlice[float32](c.read(w).Add(1))
			must(t, err)
			reader, second := c.read(w).Add(1), c.read(w).Add(1) // one alone would be computed where that costs less
			sched := schedulerOf(w.on())
			before := sched.savedBytes()
			must(t, c.write(w).CopyFrom(-5))
			checkInvariants(t, w, reader, second)
			if n := sched.savedBytes() - before; n != 4*c.saved {
				t.Errorf("%d bytes saved, want %d", n, 4*c.saved)
			}
			must(t, c.write(w).CopyFrom(-6))
			wants(t, reader, want...)
			wants(t, second, want...)
			checkInvariants(t, w, reader, second)
			part := c.write(w)
			wants(t, part, slices.Repeat([]float32{-6}, part.Size())...)
		})
	}
}

// TestOneReader checks that the only reader is computed first if that costs no more than
// saving the elements for it.
func TestOneReader(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	w := Zeros(dtype.Float32, 64, 4)
	must(t, Eval(w))
	reader := w.Slice(0, 3, 4).Add(1)
	sched := schedulerOf(w.on())
	before := sched.savedBytes()
	must(t, w.Slice(0, 3, 4).CopyFrom(2))
	if n := sched.savedBytes() - before; n != 0 || reader.isPending() {
		t.Errorf("%d bytes saved, the reader is pending: %v", n, reader.isPending())
	}
	wants(t, reader, 1, 1, 1, 1)
	checkInvariants(t, w, reader)
}
