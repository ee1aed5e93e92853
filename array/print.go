package array

import (
	"fmt"
	"io"
	"strings"

	"github.com/gpk-go/gpk/internal/callsite"
	"github.com/gpk-go/gpk/internal/compose"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/internal/textual"
)

// Format implements fmt.Formatter: %v prints what NumPy 2's str returns for
// the same array, %+v adds type, shape and device, and verbs like %.3f, %e or
// %d set the format of an element. It waits for the elements; an error is printed in their
// place.
func (a *Array) Format(f fmt.State, verb rune) {
	if a == nil {
		_, _ = io.WriteString(f, "<nil>")
		return
	}
	if a.check() != nil {
		fmt.Fprintf(f, "gpk.Array(%s)", strings.TrimSpace(a.Explain()))
		return
	}
	format, by := textual.Verb(f, verb), call{"Print", callsite.Search()}
	c := a
	if a.Size() > textual.SummaryOver {
		if !textual.EdgesFit(a.lay.Shape) {
			fmt.Fprintf(f, "gpk.Array(%v %v: the edges of its axes have too many elements to print)", a.dt, a.lay.Shape)
			return
		}
		if err := a.start(); err != nil {
			fmt.Fprintf(f, "gpk.Array(%v)", by.wrap(err, a))
			return
		}
		c = a.edges(0)
	}
	raw, err := raw(&by, c)
	if err != nil {
		fmt.Fprintf(f, "gpk.Array(%v)", err)
		return
	}
	text := textual.Array(a.dt, raw, format, c.lay.Shape, a.lay.Shape)
	if verb == 'v' && f.Flag('+') {
		text += fmt.Sprintf("\n%v %v on %v", a.dt, a.lay.Shape, a.on())
	}
	_, _ = io.WriteString(f, text)
}

// edges returns the elements of a large array that are printed, from axis d on. No
// intermediate array is larger than the result.
func (a *Array) edges(d int) *Array {
	if d == len(a.lay.Shape) {
		return a
	}
	n := a.lay.Shape[d]
	if n <= 2*textual.Edge {
		return a.edges(d + 1)
	}
	ends := []*Array{a.Slice(d, 0, textual.Edge).edges(d + 1), a.Slice(d, n-textual.Edge, n).edges(d + 1)}
	return compose.Concat(NewOperation("Print", ends), d, ends...)
}

// raw returns the elements of an array as they are in memory, in row-major order.
func raw(c *call, a *Array) ([]byte, error) {
	err := a.check()
	if err == nil {
		err = deviceapi.HostRoom(int64(a.NBytes()))
	}
	if err != nil {
		return nil, c.wrap(err, a)
	}
	out := make([]byte, a.NBytes())
	return out, read(c, out, a)
}
