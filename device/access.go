package device

import "slices"

// access is the use of one allocation's contents by a piece of work.
type access struct {
	a     *allocation
	write bool
}

func (x access) lock() {
	if x.write {
		x.a.content.Lock()
		x.a.touch()
	} else {
		x.a.content.RLock()
	}
}

func (x access) unlock() {
	if x.write {
		x.a.content.Unlock()
	} else {
		x.a.content.RUnlock()
	}
}

// accesses lists every allocation once, in the order of id. Taking the locks in this order
// avoids deadlock.
func accesses(to []access, reads, writes []*Buffer) []access {
	add := func(buffers []*Buffer, write bool) {
		for _, b := range buffers {
			if b == nil {
				continue
			}
			i := 0
			for i < len(to) && to[i].a.id < b.a.id {
				i++
			}
			if i < len(to) && to[i].a == b.a {
				to[i].write = to[i].write || write
				continue
			}
			to = slices.Insert(to, i, access{b.a, write})
		}
	}
	add(reads, false)
	add(writes, true)
	return to
}
