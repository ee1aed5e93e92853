package fft

import "unsafe"

// reader is a line of n elements at a distance of step.
type reader[S element] struct {
	first           unsafe.Pointer
	offset, step, n int
}

func (r reader[S]) at(i int) S {
	return *(*S)(unsafe.Add(r.first, (r.offset+i*r.step)*int(unsafe.Sizeof(*new(S)))))
}

// dense returns the elements as a slice if they are contiguous, else nil.
func (r reader[S]) dense() []S {
	if r.step != 1 || r.n == 0 {
		return nil
	}
	return unsafe.Slice((*S)(unsafe.Add(r.first, r.offset*int(unsafe.Sizeof(*new(S))))), r.n)
}

const (
	gatherBytes   = 128     // bytes that are gathered at a time: two cache lines, which processors load together
	gatherLongest = 1 << 13 // longest lines that are gathered, so that several fit a second-level cache
)

// eachLine calls one with each line from lo to hi. Columns of a matrix are first copied to dense memory, several at a time,
// because one column uses only a part of each cache line.
func eachLine[S element](src *S, from lines, lo, hi int, one func(i int, x reader[S])) {
	size := int(unsafe.Sizeof(*src))
	group := gatherBytes / size
	line := func(i int) reader[S] { return reader[S]{unsafe.Pointer(src), from.offset(i), from.step, from.n} }
	last := len(from.shape) - 1
	if from.step == 1 || from.n > gatherLongest || last < 0 || from.strides[last] != 1 {
		for i := lo; i < hi; i++ {
			one(i, line(i))
		}
		return
	}
	pitch := from.n + 64/size // the lines begin in different sets of a cache
	block, _, lent := memory[S](group*pitch, 0)
	defer lent.Free()
	for i := lo; i < hi; {
		count := min(group, hi-i, from.shape[last]-i%from.shape[last])
		x := line(i)
		for j := range from.n {
			row := unsafe.Slice((*S)(unsafe.Add(x.first, (x.offset+j*x.step)*size)), count)
			for k, v := range row {
				block[k*pitch+j] = v
			}
		}
		for k := range count {
			one(i+k, reader[S]{unsafe.Pointer(unsafe.SliceData(block)), k * pitch, 1, from.n})
		}
		i += count
	}
}
