package array

// A script reads the choices of a program from the fuzzer's input; behind the
// end of it every choice is the first.
type script []byte

func (s *script) pick(n int) int {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return int(b) % n
}

// flip is a choice between two.
func (s *script) flip() bool { return s.pick(2) == 1 }

func (s *script) shape() []int {
	out := make([]int, s.pick(4))
	for i := range out {
		out[i] = s.pick(6)
	}
	return out
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func unravel(shape []int, i int) []int {
	ix := make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		ix[d], i = i%shape[d], i/shape[d]
	}
	return ix
}

func position(shape, ix []int) int {
	n := 0
	for d, i := range ix {
		n = n*shape[d] + i
	}
	return n
}
