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

// flip returns a choice between two.
func (s *script) flip() bool { return s.pick(2) == 1 }

func (s *script) shape() []int {
	out := make([]int, s.pick(4))
	for i := range out {
		out[i] = s.pick(6)
	}
	return out
}
