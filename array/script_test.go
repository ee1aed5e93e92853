package array

// A holds the choices of a program, read from the fuzzer's input. After its end every
// choice is the first one.
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
