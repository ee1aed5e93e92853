package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/x448/float16"
)

// floating is the set of types in which the micro-kernels compute.
type floating interface{ float32 | float64 }

// source is an operand in the form that the packers read: lines (rows of A, columns of B),
// which a panel holds next to each other, and steps of k along each line.
type source[T floating] struct {
	data       unsafe.Pointer // element (0, 0)
	line       int            // elements from one line to the next
	step       int            // elements from one step of k to the next
	size       int            // bytes of an element
	load       loader[T]      // nil: the elements are of type T
	converting convertingPacker[T]
	parts      []part // the components of an element that a panel holds, in this order
	panels     *T     // the whole operand as PackPanels writes it, or nil
}

// part is a component of an element. The panels of a complex product hold real and
// imaginary parts one after the other.
type part int8

const (
	realPart part = iota // the element itself if it is real
	imagPart
	minusImagPart
)

// A convertingPacker converts elements of another real type while it packs them into a
// panel of w lines. Either function may be nil.
type convertingPacker[T floating] struct {
	rows4 func(dst *T, w int, src unsafe.Pointer, ld, k int)   // variant.packRows4 of converted elements
	steps func(dst *T, w int, src unsafe.Pointer, step, k int) // dst[y*w+x] = src[y*step+x] for y < k, x < w; w%16 == 0
}

// A loader converts n > 0 elements at src, stride elements apart, to T. The
// imaginary parts go to im, which may be nil for real types.
type loader[T floating] func(re, im []T, src unsafe.Pointer, stride, n int)

func (s *source[T]) at(line, step int) unsafe.Pointer {
	return unsafe.Add(s.data, (line*s.line+step*s.step)*s.size)
}

// read converts n steps of one line of a real matrix to dst.
func (s *source[T]) read(dst []T, line, step, n int) {
	if n == 0 {
		return
	}
	src := s.at(line, step)
	if s.load != nil {
		s.load(dst, nil, src, s.step, n)
		return
	}
	for i := range dst[:n] {
		dst[i] = *offset((*T)(src), i*s.step)
	}
}

// dense returns count lines of k numbers as contiguous memory. If they are not stored in this way, it copies them
// to copied, which the caller returns to its pool.
func (s *source[T]) dense(count, k int) (x []T, copied *buffer[T]) {
	if s.load == nil && s.step == 1 && (count == 1 || s.line == k) {
		return unsafe.Slice((*T)(s.data), count*k), nil
	}
	copied = getBuffer[T](count * k)
	for r := range count {
		s.read(copied.data[r*k:], r, 0, k)
	}
	return copied.data, copied
}

// scratchLen returns the scratch length that pack needs for panels of w lines and kc steps.
func (s *source[T]) scratchLen(w, kc int) int {
	if s.load == nil {
		return 0
	}
	return 2 * w * kc
}

// pack fills dst with the panel of lines [l, l+n), n <= w, and steps
// [q, q+kc): for part number j, element (l+x, q+y) is at dst[(j*kc+y)*w+x].
// Lines n to w are zero; their products are computed and dropped.
func (s *source[T]) pack(v *variant[T], dst []T, w, l, n, q, kc int, scratch []T) {
	if s.load == nil {
		packPanel(v, dst, w, (*T)(s.at(l, q)), s.line, s.step, n, kc)
		return
	}
	if s.packConverting(dst, w, l, n, q, kc, scratch) {
		return
	}
	re, im := scratch[:w*kc], scratch[w*kc:2*w*kc]
	line, step := kc, 1
	if s.line == 1 {
		line, step = 1, w
		for y := range kc {
			s.load(re[y*w:], im[y*w:], s.at(l, q+y), 1, n)
		}
	} else {
		for x := range n {
			s.load(re[x*kc:], im[x*kc:], s.at(l+x, q), s.step, kc)
		}
	}
	negated := false
	for j, part := range s.parts {
		plane := re
		if part != realPart {
			if negated != (part == minusImagPart) {
				negate(im)
				negated = !negated
			}
			plane = im
		}
		packPanel(v, dst[j*kc*w:], w, &plane[0], line, step, n, kc)
	}
}

// packConverting is pack by a convertingPacker. It reports false if there is none for the operand.
func (s *source[T]) packConverting(dst []T, w, l, n, q, kc int, scratch []T) bool {
	switch {
	case s.line == 1 && n == w && w%16 == 0 && s.converting.steps != nil:
		s.converting.steps(&dst[0], w, s.at(l, q), s.step, kc)
		return true
	case s.line != 1 && s.step == 1 && n%4 == 0 && s.converting.rows4 != nil:
	default:
		return false
	}
	if n < w {
		clear(dst[:kc*w])
	}
	done := kc &^ 7
	for x := 0; x < n; x += 4 {
		s.converting.rows4(&dst[x], w, s.at(l+x, q), s.line, done)
	}
	for x := 0; done < kc && x < n; x++ {
		rest := scratch[:kc-done]
		s.read(rest, l+x, q+done, len(rest))
		for y, v := range rest {
			dst[(done+y)*w+x] = v
		}
	}
	return true
}

// hasRows reports whether the numbers of a step are neighbours, and need no conversion.
func (s *source[T]) hasRows() bool { return s.load == nil && s.line == 1 }

// stepsTogether is the number of steps that packLines packs of one panel before it continues with the next. If the
// lines of a matrix are adjacent, a row of it is then read from one end to the other.
const stepsTogether = 32

// packLines packs the lines [l, l+n) into panels of w lines.
func (s *source[T]) packLines(v *variant[T], dst []T, w, l, n, q, kc int, scratch []T) {
	panels, size := ceilDiv(n, w), w*kc*len(s.parts)
	if s.hasRows() {
		for y := 0; y < kc; y += stepsTogether {
			for x := range panels {
				packSteps(dst[x*size+y*w:], w, (*T)(s.at(l+x*w, q+y)), s.step, min(w, n-x*w), min(stepsTogether, kc-y))
			}
		}
		return
	}
	for x := range panels {
		s.pack(v, dst[x*size:], w, l+x*w, min(w, n-x*w), q, kc, scratch)
	}
}

func negate[T floating](x []T) {
	for i, v := range x {
		x[i] = -v
	}
}

// packPanel copies n lines of kc steps of src into the panel dst of w lines.
func packPanel[T floating](v *variant[T], dst []T, w int, src *T, line, step, n, kc int) {
	dst = dst[:kc*w]
	if line == 1 {
		packSteps(dst, w, src, step, n, kc)
		return
	}
	if n < w {
		clear(dst)
	}
	l := 0
	if step == 1 {
		done := kc &^ 7
		for ; v.packRows16 != nil && l+16 <= n; l += 16 {
			s := offset(src, l*line)
			v.packRows16(&dst[l], w, s, line, done)
			packStrided(dst[l:], w, s, line, 1, 16, done, kc)
		}
		for ; v.packRows4 != nil && l+4 <= n; l += 4 {
			s := offset(src, l*line)
			v.packRows4(&dst[l], w, s, line, done)
			packStrided(dst[l:], w, s, line, 1, 4, done, kc)
		}
		for ; v.packRows2 != nil && l+2 <= n; l += 2 {
			s := offset(src, l*line)
			v.packRows2(&dst[l], w, s, line, done)
			packStrided(dst[l:], w, s, line, 1, 2, done, kc)
		}
	}
	if l < n {
		packStrided(dst[l:], w, offset(src, l*line), line, step, n-l, 0, kc)
	}
}

// packStrided copies steps [from, kc) of n lines with any strides.
func packStrided[T floating](dst []T, w int, src *T, line, step, n, from, kc int) {
	for x := range n {
		for y := from; y < kc; y++ {
			dst[y*w+x] = *offset(src, x*line+y*step)
		}
	}
}

// packSteps is packPanel for lines that are adjacent in memory.
func packSteps[T floating](dst []T, w int, src *T, step, n, kc int) {
	if n < w {
		for y := range kc {
			d := dst[y*w:][:w]
			copy(d, unsafe.Slice(offset(src, y*step), n))
			clear(d[n:])
		}
		return
	}
	switch w {
	case 32:
		packArrays[[32]T](dst, w, src, step, kc)
	case 16:
		packArrays[[16]T](dst, w, src, step, kc)
	case 12:
		packArrays[[12]T](dst, w, src, step, kc)
	case 8:
		packArrays[[8]T](dst, w, src, step, kc)
	case 6:
		packArrays[[6]T](dst, w, src, step, kc)
	default:
		packArrays[[4]T](dst, w, src, step, kc)
	}
}

// packArrays copies each step as one array A of w elements, which the
// compiler turns into vector moves.
func packArrays[A any, T floating](dst []T, w int, src *T, step, kc int) {
	for y := range kc {
		*(*A)(unsafe.Pointer(&dst[y*w])) = *(*A)(unsafe.Pointer(offset(src, y*step)))
	}
}

// offset returns the address of the element n places after p.
func offset[T any](p *T, n int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(p), n*int(unsafe.Sizeof(*p))))
}

// converters convert n contiguous elements, n a multiple of 8, between a product's types
// and its compute types. A nil entry stands for the loop in its comment.
type converters struct {
	loadF16   func(dst *float32, src *float16.Float16, n int)   // dst[i] = src[i].Float32()
	loadBF16  func(dst *float32, src *bfloat16.BFloat16, n int) // dst[i] = src[i].Float32()
	loadI8    func(dst *float32, src *int8, n int)              // dst[i] = float32(src[i])
	loadU8    func(dst *float32, src *uint8, n int)             // dst[i] = float32(src[i])
	splitC64  func(re, im *float32, src *complex64, n int)      // re[i], im[i] = real(src[i]), imag(src[i])
	splitC128 func(re, im *float64, src *complex128, n int)     // the same
	storeF16  func(dst *float16.Float16, src *float32, n int)   // dst[i] = float16.Fromfloat32(src[i])
	storeBF16 func(dst *bfloat16.BFloat16, src *float32, n int) // dst[i] = bfloat16.FromFloat32(src[i])
	addI32    func(dst *int32, src *float32, n int)             // dst[i] += int32(src[i])
	joinC64   func(dst *complex64, re, im *float32, n int)      // dst[i] = complex(re[i], im[i])
	joinC128  func(dst *complex128, re, im *float64, n int)     // the same

	// The functions of convertingPacker, and storeF16 and storeBF16 for rows, at least one,
	// with row pitches ldd and lds; cols > 0.
	rows4F16   func(dst *float32, w int, src *float16.Float16, ld, k int)
	rows4BF16  func(dst *float32, w int, src *bfloat16.BFloat16, ld, k int)
	stepsF16   func(dst *float32, w int, src *float16.Float16, step, k int)
	stepsBF16  func(dst *float32, w int, src *bfloat16.BFloat16, step, k int)
	narrowF16  func(dst *float16.Float16, ldd int, src *float32, lds, rows, cols int)
	narrowBF16 func(dst *bfloat16.BFloat16, ldd int, src *float32, lds, rows, cols int)
}

// loaders are the converters in the form that the packers need.
type loaders struct {
	converters
	real       map[dtype.DType]loader[float32] // the real types that are computed in float32
	converting map[dtype.DType]convertingPacker[float32]
	narrow     map[dtype.DType]func(c unsafe.Pointer, at, ldc int, o region[float32]) // the 16-bit results
	c64        loader[float32]
	c128       loader[float64]
}

func (c converters) loaders() loaders {
	return loaders{
		converters: c,
		real: map[dtype.DType]loader[float32]{
			dtype.Float16:  loadWith(c.loadF16, float16.Float16.Float32),
			dtype.BFloat16: loadWith(c.loadBF16, bfloat16.BFloat16.Float32),
			dtype.Int8:     loadWith(c.loadI8, func(v int8) float32 { return float32(v) }),
			dtype.Uint8:    loadWith(c.loadU8, func(v uint8) float32 { return float32(v) }),
		},
		converting: map[dtype.DType]convertingPacker[float32]{
			dtype.Float16:  {pointing(c.rows4F16), pointing(c.stepsF16)},
			dtype.BFloat16: {pointing(c.rows4BF16), pointing(c.stepsBF16)},
		},
		narrow: map[dtype.DType]func(unsafe.Pointer, int, int, region[float32]){
			dtype.Float16:  narrowWith(c.narrowF16, c.storeF16, float16.Fromfloat32),
			dtype.BFloat16: narrowWith(c.narrowBF16, c.storeBF16, bfloat16.FromFloat32),
		},
		c64:  splitWith(c.splitC64, func(v complex64) (re, im float32) { return real(v), imag(v) }),
		c128: splitWith(c.splitC128, func(v complex128) (re, im float64) { return real(v), imag(v) }),
	}
}

// pointing makes f accept a source of any type; nil stays nil.
func pointing[E any](f func(*float32, int, *E, int, int)) func(*float32, int, unsafe.Pointer, int, int) {
	if f == nil {
		return nil
	}
	return func(dst *float32, w int, src unsafe.Pointer, pitch, k int) { f(dst, w, (*E)(src), pitch, k) }
}

// loadWith makes a loader from a converter and its scalar form.
func loadWith[E any](vector func(*float32, *E, int), scalar func(E) float32) loader[float32] {
	return func(re, _ []float32, src unsafe.Pointer, stride, n int) {
		s, done := (*E)(src), 0
		if stride == 1 && vector != nil {
			done = n &^ 7
			vector(&re[0], s, done)
		}
		for i := done; i < n; i++ {
			re[i] = scalar(*offset(s, i*stride))
		}
	}
}

// splitWith makes a loader from a splitter and its scalar form.
func splitWith[T floating, E any](vector func(re, im *T, src *E, n int), scalar func(E) (re, im T)) loader[T] {
	return func(re, im []T, src unsafe.Pointer, stride, n int) {
		s, done := (*E)(src), 0
		if stride == 1 && vector != nil {
			done = n &^ 7
			vector(&re[0], &im[0], s, done)
		}
		for i := done; i < n; i++ {
			re[i], im[i] = scalar(*offset(s, i*stride))
		}
	}
}
