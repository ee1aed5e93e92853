package quantum

import "encoding/binary"

// uploadBlob is the data that the host sends to a GPU in one copy.
type uploadBlob []byte

// codePlaces has the offsets of a code's parts in an upload blob.
type codePlaces struct {
	coefs, fixed, angles, slots uint64
	passes                      []uint64
	tables                      [][]uint64 // the passes of each table
}

// align pads to a multiple of eight bytes.
func (p *uploadBlob) align() {
	for len(*p)%8 != 0 {
		*p = append(*p, 0)
	}
}

// add appends numbers, and returns their offset.
func (p *uploadBlob) add(numbers any) (at uint64) {
	at = uint64(len(*p))
	*p, _ = binary.Append(*p, binary.LittleEndian, numbers) // cannot fail for slices of numbers of fixed size
	return at
}

// code appends a code.
func (p *uploadBlob) code(c *circuitCode) codePlaces {
	p.align()
	at := codePlaces{coefs: p.add(c.coefs), fixed: p.add(c.fixed), angles: p.add(c.angles), slots: p.add(c.slots)}
	for _, pass := range c.passes {
		at.passes = append(at.passes, p.add(pass.words))
	}
	for _, t := range c.tables {
		var passes []uint64
		for _, pass := range t.passes {
			passes = append(passes, p.add(pass.words))
		}
		at.tables = append(at.tables, passes)
	}
	return at
}

// packed is the upload blob of a kernel: the notes, followed by the codes. It is
// immutable: every Gram matrix with the same number of tiles sends the same bytes.
type packed struct {
	tiles int // tiles with notes
	bytes uploadBlob
	notes int          // bytes of the notes
	codes []codePlaces // those of the blocks, then that of the wires if there are any
}

// maxPacked is the maximum size of a cached upload blob, in bytes.
const maxPacked = 1 << 20

// packed returns the upload blob with notes for the given number of tiles.
func (k *kernel) packed(tiles int) *packed {
	codes := k.encoded()
	if p := codes.packed.Load(); p != nil && p.tiles == tiles {
		return p
	}
	p := &packed{tiles: tiles}
	newNotes(&p.bytes, 2*(len(k.blocks)+1), tiles)
	p.notes = len(p.bytes)
	list := codes.blocks
	if codes.wires != nil {
		list = append(list[:len(list):len(list)], codes.wires)
	}
	for _, c := range list {
		p.codes = append(p.codes, p.bytes.code(c))
	}
	if len(p.bytes) <= maxPacked {
		codes.packed.Store(p)
	}
	return p
}
