package device

// Expose declares that a pointer into the buffer's memory, such as a slice over Ptr,
// has been given to code that does not keep the Buffer. From then on the memory is
// never reused and never unmapped, not even after Free. Memory of Go's heap stays for
// as long as something refers to it. Other memory of the pool stays until the program
// ends: it counts in the pool's limit, after Free in PoolStats.Exposed. Memory that
// costs nothing to expose comes from allocExposed. Foreign memory (Wrap, WrapHost) is
// its owner's, as before.
func (b *Buffer) Expose() {
	if b.none() {
		return
	}
	d := b.a.dev
	d.mu.Lock()
	b.a.exposed = true
	d.mu.Unlock()
}

// hold keeps the memory from being given back until release is called: Free is put off
// until then. It is for memory that is lent to other libraries, which say when they are
// done with it. The result keeps the Buffer.
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

// exposable reports whether Expose keeps no memory longer than the program refers to
// it: the bytes lie in Go's heap or are foreign memory, or there are none.
func (b *Buffer) exposable() bool {
	if b.none() {
		return true
	}
	a := b.a
	return a.mem.mapped == 0 && (a.block == nil || a.dev.info.Kind == CPU)
}

// allocExposed is Alloc for the CPU and for memory that is to be shown outside: its n
// bytes lie in Go's heap, so that a slice over Ptr keeps them alive by itself, also
// after the Buffer was freed or dropped. They count in the pool's limit for as long
// as the Buffer is kept, and are never reused. They are zero.
func (d *Device) allocExposed(n int64) (*Buffer, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	if d.info.Kind != CPU {
		return nil, errorf("memory of the host asked of %v", d)
	}
	if n <= 0 || n > maxBytes {
		return d.Alloc(n, nil)
	}
	return d.allocOutside(n, heapMemory)
}
