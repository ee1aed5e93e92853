package fused

import (
	"fmt"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/layout"
)

// checkedOffsets is the key of a check of offsets. Its result holds for every operation
// with the same key.
type checkedOffsets struct{ start, n, rows int }

// offsetsOf returns the key of the check of dense offsets into the given number of rows.
func offsetsOf(v device.View, rows int) checkedOffsets {
	return checkedOffsets{v.Layout.Offset, v.Layout.Size(), rows}
}

// checkOffsets returns the first problem of the offsets of sequences that have the given
// number of rows in total.
func checkOffsets(offsets []int32, rows int) error {
	if offsets[0] != 0 {
		return layout.Errorf("the offsets begin at %d, not at 0", offsets[0])
	}
	for i, at := range offsets[1:] {
		if at < offsets[i] {
			return layout.Errorf("offset %d is %d, less than the previous one: offsets must not decrease", i+1, at)
		}
	}
	if last := offsets[len(offsets)-1]; int(last) != rows {
		return layout.Errorf("the offsets end at %d, and there are %d rows", last, rows)
	}
	return nil
}

// flaggedOffsets returns the error of checkOffsets from the flags of a kernel that has
// checked the offsets.
func flaggedOffsets(flags [2]int64, rows int) error {
	i, at := flags[1]>>32, int32(flags[1])
	switch flags[0] {
	case cutlass.OffsetsFine:
		return nil
	case cutlass.OffsetsBegin:
		return layout.Errorf("the offsets begin at %d, not at 0", at)
	case cutlass.OffsetsFall:
		return layout.Errorf("offset %d is %d, less than the previous one: offsets must not decrease", i, at)
	case cutlass.OffsetsEnd:
		return layout.Errorf("the offsets end at %d, and there are %d rows", at, rows)
	}
	return fmt.Errorf("the kernel returns %d for the check of the offsets: rebuild the library with `gpk setup`", flags[0])
}
