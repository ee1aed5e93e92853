//go:build amd64 && !noasm

package fft

// fold64 is foldPair for the first 2*count complex numbers of a line and the last 2*count, two pairs at a time. front and low are the first two elements of the line and of the turns; back and high
// are the last two. The elements from the front and from the back must not overlap. The results have the same bits as those
// of foldPair.
//
//go:noescape
func fold64(front, back, low, high *float64, count int)
