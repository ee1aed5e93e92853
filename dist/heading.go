package dist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dist/internal/control"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// heading describes a rank's call. The ranks compare their headings before data moves. It is sent as JSON.
type heading struct {
	Call     string
	Op       string `json:",omitempty"`
	Axis     int    `json:",omitempty"` // for Broadcast, the root
	DType    string `json:",omitempty"`
	Shape    []int  `json:",omitempty"`
	Sequence int    `json:",omitempty"` // the number of the captured sequence to which the call belongs
	Error    string `json:",omitempty"` // the reason why the rank cannot take part
	Is       []int  `json:",omitempty"`
}

const maxHeading = 2 << 10

// String prints "AllReduce(Sum) of [2 3] float32".
func (h heading) String() string {
	s := h.Call
	switch h.Call {
	case "AllReduce":
		s += "(" + h.Op + ")"
	case "ReduceScatter":
		s += fmt.Sprintf("(%s, axis %d)", h.Op, h.Axis)
	case "Broadcast":
		s += fmt.Sprintf("(root %d)", h.Axis)
	case "AllGather", "AllToAll":
		s += fmt.Sprintf("(axis %d)", h.Axis)
	}
	if h.Sequence > 0 {
		s += fmt.Sprintf(" (captured sequence %d)", h.Sequence)
	}
	if h.DType != "" {
		s += fmt.Sprintf(" of %v %s", h.Shape, h.DType)
	}
	return s
}

// encode returns the heading as it is sent. An error's text is shortened so that it fits.
func (h heading) encode() ([]byte, error) {
	for {
		b, _ := json.Marshal(h) // strings and integers: no error
		if len(b) <= maxHeading {
			return b, nil
		}
		if h.Error == "" {
			return nil, fmt.Errorf("%w: %d axes are too many to send", gpk.ErrShape, len(h.Shape))
		}
		h.Error = h.Error[:len(h.Error)/2]
	}
}

// digest identifies a heading (FNV-1a, www.isthe.com/chongo/tech/comp/fnv). Its last bit says whether the heading
// has an error.
func (h *heading) digest() uint64 {
	d := uint64(0xcbf29ce484222325)
	number := func(n uint64) { d = (d ^ n) * 0x100000001b3 }
	text := func(s string) {
		for i := range len(s) {
			number(uint64(s[i]))
		}
		number(uint64(len(s)))
	}
	text(h.Call)
	text(h.Op)
	text(h.DType)
	text(h.Error)
	number(uint64(h.Axis))
	number(uint64(h.Sequence))
	for _, n := range h.Shape {
		number(uint64(n))
	}
	number(uint64(len(h.Shape)))
	d ^= d >> 32
	if h.Error != "" {
		return d | 1
	}
	return d &^ 1
}

// agree compares the headings of all ranks. It returns nil if they are equal and all ranks can take part. An
// error, except that of a failed group, is the same on all ranks, and they can continue. With NCCL a difference
// fails the group.
func (c *Comm) agree(ctx context.Context, key string, mine heading) error {
	if c.compare != nil {
		return c.compare.wait(ctx, &mine)
	}
	own, err := mine.encode()
	if err != nil {
		mine = heading{Call: mine.Call, Error: control.Text(err), Is: control.Sentinels(err)}
		own, _ = mine.encode()
	}
	all, err := c.move.headings(ctx, c, key, own)
	if err != nil {
		return c.end(err)
	}
	return c.difference(all)
}

// difference names the first rank whose heading carries an error or differs from that of rank 0.
func (c *Comm) difference(all [][]byte) error {
	var first, h heading
	for i, b := range all {
		if i > 0 && string(b) == string(all[0]) {
			continue
		}
		h = heading{}
		if err := json.Unmarshal(b, &h); err != nil {
			return c.blame(i, err)
		}
		if h.Error != "" {
			return c.blame(i, control.Remote(h.Error, h.Is))
		}
		if i == 0 {
			first = h
			continue
		}
		if err := first.differs(&h); err != nil {
			return c.blame(i, err)
		}
	}
	return nil
}

// differs returns an error that states the difference between the call of another rank and that of rank 0.
func (h *heading) differs(other *heading) error {
	var cause error
	switch {
	case h.Call != other.Call || h.Op != other.Op || h.Axis != other.Axis || h.Sequence != other.Sequence:
		cause = gpk.ErrUnsupported
	case h.DType != other.DType:
		cause = gpk.ErrDType
	case !slices.Equal(h.Shape, other.Shape):
		cause = gpk.ErrShape
	default:
		return nil
	}
	return fmt.Errorf("%w: it calls %v, rank 0 calls %v", cause, other, h)
}

// blame returns err as an error of a rank.
func (c *Comm) blame(index int, err error) error {
	var already *RankError
	if errors.As(err, &already) {
		return err
	}
	rank := c.members[index]
	return &RankError{rank, c.r.node.Host(rank), err}
}

// bytes returns the number of bytes of the elements.
func (h heading) bytes() (int, error) {
	dt, err := dtype.Parse(h.DType)
	if err != nil {
		return 0, err
	}
	n, err := layout.Size(h.Shape)
	return n * dt.Size(), err
}
