package array

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/ops"
)

// Gathered is Concat along the first axis, for many arrays of one type and shape that are
// Settled and not 0-d. It copies immediately and takes the scheduler's lock once to look
// them up, where Concat makes a pending operation. It reports false, and copies nothing, if
// an array is pending, is being written, or is part of a capture.
func Gathered(as []*Array) (joined *Array, ok bool) {
	c := call{"Concat", here()}
	if len(as) == 0 || match(as...) != nil || as[0].NDim() == 0 {
		return nil, false
	}
	u, from, scope, ok := gather(as)
	if !ok {
		return nil, false
	}
	shape := as[0].Shape()
	shape[0] *= len(as)
	s, dt := open(as[0].stream), as[0].dt
	joined = c.filled(s, dt, shape, fmt.Sprintf("%d copies along axis 0", len(as)), from, func(dst device.View) error { return ops.Concat(s, dst, 0, from) })
	schedulerOf(s.Device()).release(u)
	joined.ownedBy(scope)
	return joined, true
}

// gather pins the memories of arrays of one device. It returns the views of their elements
// and the newest of their scopes.
func gather(as []*Array) (u *use, from []device.View, scope *Scope, ok bool) {
	u, from = &use{pins: make([]*memory, 0, len(as))}, make([]device.View, len(as))
	defer as[0].lock().mu.Unlock()
	for i, a := range as {
		from[i] = device.View{DType: a.dt, Layout: a.lay}
		c, err := a.contents(nil)
		if err != nil || recordingOn(a.stream) != nil || !slices.Equal(a.lay.Shape, as[0].lay.Shape) || !u.take(c, &from[i]) {
			return nil, nil, nil, false
		}
		scope = newer(scope, a.scopeOf())
	}
	u.begin()
	return u, from, scope, true
}
