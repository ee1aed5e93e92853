//go:build amd64 && !noasm

package fft

// fold64 computes the pairs of elements of foldParts for 2*count elements from the beginning of a line and as many from its
// end, in steps of two complex numbers. front and low are the first two elements of the line and of the turns; back and high
// are the last two. The elements from the front and from the back must not overlap. The results have the same bits as those
// of foldPair.
//
//go:noescape
func fold64(front, back, low, high *float64, count int)
