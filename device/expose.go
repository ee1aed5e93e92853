package device

// Expose declares that a pointer into the buffer's memory, such as a slice over Ptr, has
// been given to code that does not keep the Buffer alive. From then on the memory is never
// reused and never unmapped, not even after Free. Memory of Go's heap remains as long as
// something refers to it. Other memory of the pool remains until the program ends: it
// counts towards the pool's limit, and after Free in PoolStats.Exposed. allocExposed
// returns memory that can be exposed at no cost. Foreign memory (Wrap, WrapHost) is not
// affected.
func (b *Buffer) Expose() {
	if b.none() {
		return
	}
	d := b.a.dev
	d.mu.Lock()
	b.a.exposed = true
	d.mu.Unlock()
}

// hold postpones Free until release is called. It is for memory that is shared with other
// libraries, which report when they no longer use it. release keeps the Buffer alive.
func (b *Buffer) hold() (release func()) {
	if b.none() {
		return func() {}
	}
	d := b.a.dev
	held := []*Buffer{b}
	d.mu.Lock()
	pin(held)
	d.mu.Unlock()
	return func() { d.unpin(held) }
}

// exposable reports whether Expose costs nothing, because the memory is not kept longer
// than the program refers to it. This is true of bytes in Go's heap, of foreign memory,
// and of an empty buffer.
func (b *Buffer) exposable() bool {
	if b.none() {
		return true
	}
	a := b.a
	return a.mem.mapped == 0 && (a.block == nil || a.dev.info.Kind == CPU)
}

// allocExposed is Alloc for CPU memory that will be exposed. Its n bytes are in Go's heap,
// so that a slice over Ptr keeps them alive, also after the Buffer was freed or dropped.
// They count towards the pool's limit as long as the Buffer is kept, and are never reused.
// They are zero.
func (d *Device) allocExposed(n int64) (*Buffer, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	if d.info.Kind != CPU {
		return nil, errorf("exposed host memory needs the CPU device, not %v", d)
	}
	if n <= 0 || n > maxBytes {
		return d.Alloc(n, nil)
	}
	return d.allocOutside(n, heapMemory)
}
