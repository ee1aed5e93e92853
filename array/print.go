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
func (a *Array) Format(f fmt.State, verb rune) { _, _ = io.WriteString(f, a.text(f, verb)) }

func (a *Array) text(f fmt.State, verb rune) string {
	switch {
	case a == nil:
		return "<nil>"
	case a.check() != nil:
		return fmt.Sprintf("gpk.Array(%s)", strings.TrimSpace(a.Explain()))
	case a.Size() > textual.SummaryOver && !textual.EdgesFit(a.lay.Shape):
		return fmt.Sprintf("gpk.Array(%v %v: the edges of its axes have too many elements to print)", a.dt, a.lay.Shape)
	}
	by, shown := call{"Print", callsite.Search()}, a
	var err error
	if a.Size() > textual.SummaryOver {
		err = by.wrap(a.start(), a)
		shown = compose.Edges(a.op("Print"), a, 0, textual.Edge)
	}
	var elements []byte
	if err == nil {
		elements, err = raw(&by, shown)
	}
	if err != nil {
		return fmt.Sprintf("gpk.Array(%v)", err)
	}
	text := textual.Array(a.dt, elements, textual.Verb(f, verb), shown.lay.Shape, a.lay.Shape)
	if verb == 'v' && f.Flag('+') {
		text += fmt.Sprintf("\n%v %v on %v", a.dt, a.lay.Shape, a.on())
	}
	return text
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
