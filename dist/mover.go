package dist

import (
	"context"
	"strconv"

	"github.com/gpk-go/gpk/dist/internal/control"
)

// mover moves bytes between the ranks of a Comm. key identifies the call, and is the same on all
// ranks. After an error the ranks may disagree, so the group fails.
type mover interface {
	// headings sends the heading of this rank and returns those of all ranks.
	headings(ctx context.Context, c *Comm, key string, own []byte) ([][]byte, error)
	// allGather writes the blocks in of all ranks into out, in the order of ranks.
	allGather(ctx context.Context, c *Comm, key string, out, in []byte) error
	// allToAll sends block j of in to rank j. It receives the block of rank j for this rank in
	// block j of out. in may be overwritten.
	allToAll(ctx context.Context, c *Comm, key string, out, in []byte) error
	// broadcast copies b of the rank with index root to all ranks.
	broadcast(ctx context.Context, c *Comm, key string, b []byte, root int) error
	// send sends b to a rank. recv receives len(b) bytes from a rank.
	send(ctx context.Context, c *Comm, key string, b []byte, to int) error
	recv(ctx context.Context, c *Comm, key string, b []byte, from int) error
	// split returns the mover of the ranks with the same color, in the order of key. Color and key
	// are below the number of ranks. For the color -1 the result must not be used.
	split(ctx context.Context, color, key int) (mover, error)
	// free frees a mover that split made. All of its ranks call it.
	free() error
}

// relay moves bytes through the hub of the control side, in memory or over TCP through rank 0.
type relay struct{ node *control.Node }

func (r relay) headings(ctx context.Context, c *Comm, key string, own []byte) ([][]byte, error) {
	return r.node.Gather(ctx, key, c.me, len(c.members), own)
}

func (r relay) allGather(ctx context.Context, c *Comm, key string, out, in []byte) error {
	if err := r.toOthers(ctx, c, key, func(int) []byte { return in }); err != nil {
		return err
	}
	copy(out[c.me*len(in):], in)
	return r.fromOthers(ctx, c, key, out, len(in))
}

func (r relay) allToAll(ctx context.Context, c *Comm, key string, out, in []byte) error {
	n := len(in) / len(c.members)
	if err := r.toOthers(ctx, c, key, func(i int) []byte { return in[i*n:][:n] }); err != nil {
		return err
	}
	copy(out[c.me*n:][:n], in[c.me*n:])
	return r.fromOthers(ctx, c, key, out, n)
}

// toOthers sends its block to each other rank.
func (r relay) toOthers(ctx context.Context, c *Comm, key string, block func(i int) []byte) error {
	for step := 1; step < len(c.members); step++ {
		i := (c.me + step) % len(c.members)
		if err := r.node.Send(ctx, c.members[i], key, block(i)); err != nil {
			return err
		}
	}
	return nil
}

// fromOthers receives the block of each other rank, of n bytes.
func (r relay) fromOthers(ctx context.Context, c *Comm, key string, out []byte, n int) error {
	for i, m := range c.members {
		if i == c.me {
			continue
		}
		if err := r.node.Recv(ctx, m, key, out[i*n:][:n]); err != nil {
			return err
		}
	}
	return nil
}

func (r relay) broadcast(ctx context.Context, c *Comm, key string, b []byte, root int) error {
	if c.me == root {
		return r.toOthers(ctx, c, key, func(int) []byte { return b })
	}
	return r.node.Recv(ctx, c.members[root], key, b)
}

func (r relay) send(ctx context.Context, c *Comm, key string, b []byte, to int) error {
	return r.node.Send(ctx, c.members[to], key, b)
}

func (r relay) recv(ctx context.Context, c *Comm, key string, b []byte, from int) error {
	return r.node.Recv(ctx, c.members[from], key, b)
}

func (r relay) split(context.Context, int, int) (mover, error) { return r, nil }

func (relay) free() error { return nil }

// letterKey returns the key of message n from one rank of a Comm to another.
func (c *Comm) letterKey(from, to, n int) string {
	return c.name + "/" + strconv.Itoa(from) + ">" + strconv.Itoa(to) + "/" + strconv.Itoa(n)
}
