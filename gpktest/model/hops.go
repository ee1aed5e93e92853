package model

// gpk remembers which lines of a program read an intermediate result again, and fuses
// less there. A line is told apart by its callers too. So that the model's few lines do
// not all become such lines, calls go through one of 256 pairs of callers.

// hop calls f.
func (p *program) hop(f func() error) error {
	i := p.rng.IntN(256)
	return outer(i/16, i%16, f)
}

//go:noinline
func outer(i, j int, f func() error) error {
	switch i {
	case 0:
		return marked(inner(j, f))
	case 1:
		return marked(inner(j, f))
	case 2:
		return marked(inner(j, f))
	case 3:
		return marked(inner(j, f))
	case 4:
		return marked(inner(j, f))
	case 5:
		return marked(inner(j, f))
	case 6:
		return marked(inner(j, f))
	case 7:
		return marked(inner(j, f))
	case 8:
		return marked(inner(j, f))
	case 9:
		return marked(inner(j, f))
	case 10:
		return marked(inner(j, f))
	case 11:
		return marked(inner(j, f))
	case 12:
		return marked(inner(j, f))
	case 13:
		return marked(inner(j, f))
	case 14:
		return marked(inner(j, f))
	}
	return marked(inner(j, f))
}

//go:noinline
func inner(i int, f func() error) error {
	switch i {
	case 0:
		return marked(f())
	case 1:
		return marked(f())
	case 2:
		return marked(f())
	case 3:
		return marked(f())
	case 4:
		return marked(f())
	case 5:
		return marked(f())
	case 6:
		return marked(f())
	case 7:
		return marked(f())
	case 8:
		return marked(f())
	case 9:
		return marked(f())
	case 10:
		return marked(f())
	case 11:
		return marked(f())
	case 12:
		return marked(f())
	case 13:
		return marked(f())
	case 14:
		return marked(f())
	}
	return marked(f())
}

// marked keeps a call from being the last of its function.
//
//go:noinline
func marked(err error) error { return err }
