package quantum

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Angle is a polynomial of a sample's features, in radians. Const and Feature make one,
// Scale, Add, Sub and Mul combine them. It is stored in a normal form, so that two
// expressions of one polynomial are equal angles. Angle is a value; the zero value is the
// angle 0.
type Angle struct {
	terms []monomial // by degree, then by features; no zero coefficients
	err   error
}

// monomial is coef times the product of features, which are in ascending order and may
// repeat.
type monomial struct {
	features []int
	coef     float64
}

// Limits of a polynomial, whose products grow fast: terms, factors of a term, and features
// of a sample.
const (
	maxTerms    = 4096
	maxDegree   = 64
	maxFeatures = math.MaxInt32
)

// errAngle is the cause for angles that are not finite polynomials.
var errAngle = errors.New("an angle that is not a finite polynomial of the features")

// Const returns the angle v. If v is not finite, the gate that uses the angle reports the
// error.
func Const(v float64) Angle { return newAngle([]monomial{{coef: v}}, nil) }

// Feature returns feature i of the sample, column i of x. If i is negative or at least
// 2^31-1, the gate that uses the angle reports the error.
func Feature(i int) Angle {
	if i < 0 || i >= maxFeatures {
		return Angle{err: fmt.Errorf("%w: feature %d; features are numbered 0 to %d", errAngle, i, maxFeatures-1)}
	}
	return Angle{terms: []monomial{{features: []int{i}, coef: 1}}}
}

// newAngle converts terms to the normal form.
func newAngle(terms []monomial, err error) Angle {
	if err != nil {
		return Angle{err: err}
	}
	slices.SortStableFunc(terms, func(a, b monomial) int { return compareFeatures(a.features, b.features) })
	var out []monomial
	for _, t := range terms {
		if n := len(out); n > 0 && slices.Equal(out[n-1].features, t.features) {
			out[n-1].coef += t.coef
			continue
		}
		out = append(out, t)
	}
	for _, t := range out {
		if math.IsNaN(t.coef) || math.IsInf(t.coef, 0) {
			return Angle{err: fmt.Errorf("%w: a coefficient is %v", errAngle, t.coef)}
		}
	}
	out = slices.DeleteFunc(out, func(t monomial) bool { return t.coef == 0 })
	if len(out) > maxTerms {
		return Angle{err: fmt.Errorf("%w: more than %d terms", errAngle, maxTerms)}
	}
	return Angle{terms: out}
}

func compareFeatures(a, b []int) int {
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return slices.Compare(a, b)
}

// Scale returns s times a.
func (a Angle) Scale(s float64) Angle {
	terms := slices.Clone(a.terms)
	for i := range terms {
		terms[i].coef *= s
	}
	if len(terms) == 0 { // 0 times NaN is invalid too
		terms = []monomial{{coef: 0 * s}}
	}
	return newAngle(terms, a.err)
}

// Add returns a + b.
func (a Angle) Add(b Angle) Angle {
	return newAngle(slices.Concat(a.terms, b.terms), errors.Join(a.err, b.err))
}

// Sub returns a - b.
func (a Angle) Sub(b Angle) Angle { return a.Add(b.Scale(-1)) }

// Mul returns the product of a and b. If a term has more than 64 features, the gate that
// uses the angle reports the error.
func (a Angle) Mul(b Angle) Angle {
	if err := errors.Join(a.err, b.err); err != nil {
		return Angle{err: err}
	}
	if len(a.terms)*len(b.terms) > maxTerms*maxTerms/16 {
		return Angle{err: fmt.Errorf("%w: the product of angles with %d and %d terms has too many terms", errAngle, len(a.terms), len(b.terms))}
	}
	if n := a.degree() + b.degree(); n > maxDegree {
		return Angle{err: fmt.Errorf("%w: a product of degree %d, more than %d", errAngle, n, maxDegree)}
	}
	terms := make([]monomial, 0, len(a.terms)*len(b.terms))
	for _, s := range a.terms {
		for _, t := range b.terms {
			f := slices.Concat(s.features, t.features)
			slices.Sort(f)
			terms = append(terms, monomial{f, s.coef * t.coef})
		}
	}
	return newAngle(terms, nil)
}

// Equal reports whether a and b are the same polynomial.
func (a Angle) Equal(b Angle) bool {
	return a.err == nil && b.err == nil && slices.EqualFunc(a.terms, b.terms, func(s, t monomial) bool {
		return s.coef == t.coef && slices.Equal(s.features, t.features)
	})
}

// String writes the polynomial: "2*x0 - x1*x2 + 0.5".
func (a Angle) String() string {
	if a.err != nil {
		return "?"
	}
	if len(a.terms) == 0 {
		return "0"
	}
	var b strings.Builder
	// Features first, the constant last, as people write it.
	for i := range a.terms {
		t := a.terms[(i+1)%len(a.terms)]
		if len(a.terms[0].features) > 0 {
			t = a.terms[i]
		}
		c := t.coef
		switch {
		case b.Len() > 0 && c < 0:
			b.WriteString(" - ")
			c = -c
		case b.Len() > 0:
			b.WriteString(" + ")
		case c < 0:
			b.WriteString("-")
			c = -c
		}
		if c != 1 || len(t.features) == 0 {
			b.WriteString(strconv.FormatFloat(c, 'g', 6, 64))
			if len(t.features) > 0 {
				b.WriteString("*")
			}
		}
		for j, f := range t.features {
			if j > 0 {
				b.WriteString("*")
			}
			b.WriteString("x" + strconv.Itoa(f))
		}
	}
	return b.String()
}

// isConst reports whether the angle is independent of the features.
func (a Angle) isConst() bool {
	return len(a.terms) == 0 || len(a.terms) == 1 && len(a.terms[0].features) == 0
}

// constant returns the constant term of the angle.
func (a Angle) constant() float64 {
	if len(a.terms) > 0 && len(a.terms[0].features) == 0 {
		return a.terms[0].coef
	}
	return 0
}

// variable returns the angle without its constant term.
func (a Angle) variable() Angle {
	if a.constant() != 0 {
		return Angle{terms: a.terms[1:]}
	}
	return a
}

// isZero reports whether the angle is 0 for every sample.
func (a Angle) isZero() bool { return a.err == nil && len(a.terms) == 0 }

// features returns the number of features that the angle needs: the highest index plus 1.
func (a Angle) features() int {
	n := 0
	for _, t := range a.terms {
		if k := len(t.features); k > 0 {
			n = max(n, t.features[k-1]+1)
		}
	}
	return n
}

// degree returns the number of factors of the last term, which is the longest.
func (a Angle) degree() int {
	if len(a.terms) == 0 {
		return 0
	}
	return len(a.terms[len(a.terms)-1].features)
}

// key returns a string that is equal for equal angles only.
func (a Angle) key() string {
	var b []byte
	for _, t := range a.terms {
		b = strconv.AppendUint(b, math.Float64bits(t.coef), 36)
		for _, f := range t.features {
			b = append(b, '*')
			b = strconv.AppendInt(b, int64(f), 36)
		}
		b = append(b, '+')
	}
	return string(b)
}

// angleTable holds the distinct angles of a program. It may be empty; indices come from
// add.
type angleTable struct {
	angles []Angle
	index  map[string]int
}

func (t *angleTable) add(a Angle) int {
	k := a.key()
	if i, ok := t.index[k]; ok {
		return i
	}
	if t.index == nil {
		t.index = map[string]int{}
	}
	t.angles = append(t.angles, a)
	t.index[k] = len(t.angles) - 1
	return len(t.angles) - 1
}

// evaluateAll writes the angle of the samples from lo on into out. It returns the first
// sample for which the angle is not finite, or -1.
func (a Angle) evaluateAll(s *samples, lo int, out []float64) int {
	data, step := s.data[lo*s.features:], s.features
	clear(out)
	for _, m := range a.terms {
		if len(m.features) == 1 {
			for i, at := 0, m.features[0]; i < len(out); i, at = i+1, at+step {
				out[i] += m.coef * data[at]
			}
			continue
		}
		for i := range out {
			v := m.coef
			for _, f := range m.features {
				v *= data[i*step+f]
			}
			out[i] += v
		}
	}
	for i, v := range out {
		if v-v != 0 { // NaN or Inf
			return i
		}
	}
	return -1
}

// evaluate writes the angles of the sample x into out. It returns the first one that is not
// finite, or -1.
func (t *angleTable) evaluate(x, out []float64) int {
	for i, a := range t.angles {
		sum := 0.0
		for _, m := range a.terms {
			v := m.coef
			for _, f := range m.features {
				v *= x[f]
			}
			sum += v
		}
		if math.IsNaN(sum) || math.IsInf(sum, 0) {
			return i
		}
		out[i] = sum
	}
	return -1
}
