package device

// PoolStats has the counters of a device's memory pool. Bytes are those of whole blocks.
type PoolStats struct {
	InUse  int64  // bytes of live buffers
	Cached int64  // bytes kept for reuse
	Peak   int64  // maximum of InUse
	Limit  int64  // upper bound of InUse, Cached and Exposed together
	Allocs uint64 // blocks allocated by the driver
	Reuses uint64 // requests served by cached blocks
	Trims  uint64 // blocks returned to the driver

	Exposed     int64  // bytes that are never released: see Buffer.Expose
	Collections uint64 // garbage collections that the pool requested
	Waits       uint64 // requests that waited for one of these collections
}

// block is one allocation of the driver.
type block struct {
	mem  memory
	size int64
	home *Stream // the stream in whose order it is reused
	born uint32  // collection.epoch of its allocation
	uses []use   // work on other streams for which home waits before the block is reused
	on   *shelf  // its current or last shelf

	older, newer *block // neighbours in the list of the pool's idle blocks
}

// shelf is a stack of the idle blocks of one size and stream.
type shelf struct {
	key    shelfKey
	blocks []*block
	gone   bool // its stream was closed
}

type shelfKey struct {
	home *Stream
	size int64
}

// pool keeps the accounts of one device's blocks. It makes no driver calls. The device's
// mutex is held during every method.
type pool struct {
	stats    PoolStats
	fallback int64 // the default limit: the device's memory
	keep     int64 // maximum of Cached
	floor    int64 // minimum of bytes allocated between two garbage collections
	shared   bool  // the memory is the host's, which other programs use too

	collect collection

	shelves        map[shelfKey]*shelf
	last           *shelf // most recently used
	oldest, newest *block // list of all idle blocks

	watches []*poolWatch // usually empty
	traffic traffic
}

// traffic counts driver allocations and frees.
type traffic struct {
	calls   int    // driver calls in progress
	over    uint64 // driver calls that ended
	coming  int64  // bytes being allocated, which the pool already counts
	leaving int64  // bytes being freed, which the pool no longer counts
}

// unknownMemory is the assumed memory of a host that does not report it.
const unknownMemory = 4 << 30

func (p *pool) init(info Info, limit int64) {
	p.shelves = map[shelfKey]*shelf{}
	p.fallback = info.TotalMemory
	if p.fallback == 0 {
		p.fallback = unknownMemory
	}
	p.shared = info.Kind == CPU
	if p.shared {
		p.fallback -= p.fallback / hostReserve
	}
	p.setLimit(limit)
}

const (
	// By default the CPU's pool leaves 1/hostReserve of the host's memory to Go's heap, the
	// system and other programs. Without that, the system would terminate the program
	// before it could return an *OutOfMemoryError.
	hostReserve = 8

	hostFloor = 64 << 20 // pool.floor of the CPU
	gpuFloor  = 64       // pool.floor of a GPU is its memory divided by this
)

// setLimit sets the limit; n <= 0 selects the default.
func (p *pool) setLimit(n int64) {
	if n <= 0 {
		n = p.fallback
	}
	p.stats.Limit, p.keep = n, n
	p.floor = min(n, p.fallback) / gpuFloor
	if p.shared {
		p.keep = max(n/8, min(n, 64<<20))
		p.floor = min(hostFloor, n/8)
	}
}

// take returns an idle block of the home stream and marks it as in use; nil if there is
// none.
func (p *pool) take(home *Stream, size int64) *block {
	sh := p.shelf(shelfKey{home, size})
	if sh == nil || len(sh.blocks) == 0 {
		return nil
	}
	b := sh.blocks[len(sh.blocks)-1]
	p.unshelve(b)
	p.stats.Reuses++
	b.born = p.use(size)
	return b
}

// has reports whether take would return a block.
func (p *pool) has(home *Stream, size int64) bool {
	sh := p.shelf(shelfKey{home, size})
	return sh != nil && len(sh.blocks) > 0
}

// shelf returns the shelf with a key, or nil. It is usually the one that was used last.
func (p *pool) shelf(key shelfKey) *shelf {
	if p.last == nil || p.last.key != key {
		p.last = p.shelves[key]
	}
	return p.last
}

// use counts size bytes as in use. Its result is passed to unuse.
func (p *pool) use(size int64) (born uint32) {
	p.stats.InUse += size
	p.stats.Peak = max(p.stats.Peak, p.stats.InUse)
	for _, w := range p.watches {
		w.maxInUse = max(w.maxInUse, p.stats.InUse)
		w.maxHeld = max(w.maxHeld, p.stats.InUse+p.stats.Cached)
	}
	return p.collect.add(size)
}

// unuse reverts use.
func (p *pool) unuse(size int64, born uint32) {
	p.stats.InUse -= size
	p.collect.remove(size, born)
}

// reserve counts size bytes as in use if the limit allows it. If idle blocks could be
// evicted instead, the watches' ceilings have to allow it too.
func (p *pool) reserve(size int64, first bool) (born uint32, ok bool) {
	limit := p.stats.Limit
	if first && p.stats.Cached > 0 {
		limit = p.ceiling()
	}
	if p.held()+size > limit {
		return 0, false
	}
	return p.use(size), true
}

// held returns the bytes that count towards the limit.
func (p *pool) held() int64 { return p.stats.InUse + p.stats.Cached + p.stats.Exposed }

// ceiling is the limit, or the lowest of the watches' ceilings.
func (p *pool) ceiling() int64 {
	c := p.stats.Limit
	for _, w := range p.watches {
		if w.ceiling > 0 {
			c = min(c, w.ceiling)
		}
	}
	return c
}

// put returns a block that was in use. It returns the blocks that exceed the cache: the
// caller returns them to the driver.
func (p *pool) put(b *block) (surplus []*block) {
	p.unuse(b.size, b.born)
	p.shelve(b)
	return p.evict(func() bool { return p.stats.Cached > p.keep })
}

// abandon accounts for a freed block that is exposed: it is not reused. Memory of Go's heap
// is left to Go's collector; other memory is never released.
func (p *pool) abandon(b *block) {
	p.unuse(b.size, b.born)
	if b.mem.mapped > 0 || !p.shared {
		p.stats.Exposed += b.size
	}
}

func (p *pool) shelve(b *block) {
	key := shelfKey{b.home, b.size}
	sh := b.on
	if sh == nil || sh.gone || sh.key != key {
		if sh = p.shelves[key]; sh == nil {
			sh = &shelf{key: key}
			p.shelves[key] = sh
		}
		b.on = sh
	}
	sh.blocks = append(sh.blocks, b)
	p.stats.Cached += b.size
	b.older, b.newer = p.newest, nil
	if p.newest != nil {
		p.newest.newer = b
	} else {
		p.oldest = b
	}
	p.newest = b
}

// unshelve removes one idle block. It is usually the last of its shelf, or the first, which
// is the oldest.
func (p *pool) unshelve(b *block) {
	sh := b.on
	i := len(sh.blocks) - 1
	if sh.blocks[i] != b {
		for i = 0; sh.blocks[i] != b; i++ {
		}
	}
	sh.blocks = append(sh.blocks[:i], sh.blocks[i+1:]...)
	sh.blocks[:len(sh.blocks)+1][len(sh.blocks)] = nil
	p.stats.Cached -= b.size
	if b.older != nil {
		b.older.newer = b.newer
	} else {
		p.oldest = b.newer
	}
	if b.newer != nil {
		b.newer.older = b.older
	} else {
		p.newest = b.older
	}
	b.older, b.newer = nil, nil
}

// evict removes idle blocks, oldest first, while more returns true. Blocks that would have
// to wait for a stream during a capture remain.
func (p *pool) evict(more func() bool) (out []*block) {
	for b := p.oldest; b != nil && more(); {
		next := b.newer
		if !b.captured() {
			p.unshelve(b)
			p.stats.Trims++
			p.traffic.leaving += b.size
			out = append(out, b)
		}
		b = next
	}
	return out
}

// evictFor makes room for size more bytes.
func (p *pool) evictFor(size int64) []*block {
	most := p.ceiling()
	return p.evict(func() bool { return p.held()+size > most })
}

func (p *pool) evictAll() []*block { return p.evict(func() bool { return true }) }

// adopt moves the idle blocks of a closed stream, whose work is complete, to another
// stream.
func (p *pool) adopt(from, to *Stream) {
	for key, sh := range p.shelves {
		if key.home != from {
			continue
		}
		for len(sh.blocks) > 0 {
			b := sh.blocks[0]
			p.unshelve(b)
			b.home = to
			p.shelve(b)
		}
		sh.gone, p.last = true, nil
		delete(p.shelves, key)
	}
}

func totalSize(blocks []*block) (n int64) {
	for _, b := range blocks {
		n += b.size
	}
	return n
}

func (b *block) captured() bool {
	if b.home.capture != nil {
		return true
	}
	for _, u := range b.uses {
		if u.stream.capture != nil {
			return true
		}
	}
	return false
}
