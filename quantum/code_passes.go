package quantum

import (
	"math/bits"
	"slices"
)

// passWriter writes the stages of a pass.
type passWriter struct {
	*encoder
	pass passCode
	open bool // a chunk stage still accepts phases and has no destination yet
	head int  // offset of the open stage
}

func (w *passWriter) local() []int32 { return w.pass.at[:w.pass.local] }

// begin opens a chunk stage.
func (w *passWriter) begin(from int, words ...int32) {
	w.open, w.head = true, len(w.pass.words)
	w.pass.words = append(w.pass.words, stageChunk, int32(from), 0, 0)
	w.pass.words = append(w.pass.words, words...)
}

// end closes the open chunk stage with its destination.
func (w *passWriter) end(to int, words ...int32) {
	w.pass.words[w.head+2] = int32(to)
	w.pass.words = append(w.pass.words, words...)
	w.open = false
}

// phase adds phases to the open chunk stage, or to a new one.
func (w *passWriter) phase(kind int, words ...int32) {
	if !w.open {
		w.begin(fromShared)
	}
	w.pass.words[w.head+3]++
	w.pass.words = append(w.pass.words, int32(kind), int32(len(words)+2))
	w.pass.words = append(w.pass.words, words...)
}

// sum adds the phases of a diagonal.
func (w *passWriter) sum(d *diagonal) {
	q := w.p.qubits
	words := []int32{-1} // no angle applies to all amplitudes
	paired := slices.ContainsFunc(d.pairs, func(r []int) bool { return r != nil })
	for _, a := range d.linear {
		words = append(words, int32(a))
	}
	flag := int32(0)
	if paired {
		flag = 1
	}
	words = append(words, flag)
	if paired {
		for hi := range q {
			for lo := range hi {
				a := -1
				if d.pairs[hi] != nil {
					a = d.pairs[hi][lo]
				}
				words = append(words, int32(a))
			}
		}
		chunk := w.local()[max(w.pass.local-chunkBits, 0):]
		for r := range chunkBits {
			for k := range r {
				slot := -1
				if r < len(chunk) {
					if hi, lo := chunk[r], chunk[k]; d.pairs[hi] != nil && d.pairs[hi][lo] >= 0 {
						slot = w.phaseSlot(d.pairs[hi][lo])
					}
				}
				words = append(words, int32(slot))
			}
		}
	}
	w.phase(phaseSum, words...)
}

func (w *passWriter) parity(t generalTerm) {
	w.phase(phaseParity, int32(uint32(t.m1)), int32(uint32(t.m1>>32)), int32(uint32(t.m2)), int32(uint32(t.m2>>32)), int32(w.phaseSlot(t.angle)))
}

// diagonalPhases adds all phases of a diagonal.
func (w *passWriter) diagonalPhases(d *diagonal) {
	w.sum(d)
	for _, t := range d.general {
		w.parity(t)
	}
}

// permute ends the open chunk stage, or a new one, with a linear map.
func (w *passWriter) permute(rows []uint64) {
	if !w.open {
		w.begin(fromShared)
	}
	place := map[int32]int{}
	for l, p := range w.local() {
		place[p] = l
	}
	words := make([]int32, w.p.qubits)
	for l, p := range w.pass.at {
		var image uint32
		for i, r := range rows {
			if r>>p&1 == 0 {
				continue
			}
			if to, ok := place[int32(i)]; ok {
				image |= 1 << to
			}
		}
		words[l] = int32(image)
	}
	w.end(toPermuted, words...)
}

// gates writes the stages of matrices.
func (w *passWriter) gates(ms []*move) {
	if w.open {
		w.end(toShared)
	}
	place := map[int32]int{}
	for l, p := range w.local() {
		place[p] = l
	}
	for _, list := range schedule(ms, 0, groupBits) {
		var active uint64
		for _, m := range list {
			active |= m.x
		}
		var group []int32
		index := map[int]int{}
		for l, p := range w.local() {
			if active>>p&1 == 1 {
				index[int(p)] = len(group)
				group = append(group, int32(l))
			}
		}
		words := []int32{stageGates, int32(len(group)), int32(len(list))}
		words = append(words, group...)
		for len(words) < 3+groupBits {
			words = append(words, 0)
		}
		for _, m := range list {
			var inner uint32
			outer := m.ctl
			for c := m.ctl; c != 0; c &= c - 1 {
				p := bits.TrailingZeros64(c)
				if l, ok := place[int32(p)]; ok {
					inner |= 1 << l
					outer &^= 1 << p
				}
			}
			words = append(words, int32(index[m.to]), int32(m.slot), int32(inner), int32(uint32(outer)), int32(uint32(outer>>32)))
		}
		w.pass.words = append(w.pass.words, words...)
	}
}

// pass writes the code of one pass; `to` is the destination of its last stage.
func (e *encoder) pass(ms []*move, at []int32, first bool, to int) passCode {
	w := &passWriter{encoder: e, pass: passCode{at: at, local: min(e.p.qubits, localBits)}}
	switch {
	case !first:
		w.begin(fromState)
	case e.longVectors:
		w.begin(fromLongProduct, e.vectors()...)
	default:
		w.begin(fromProduct, e.vectors()...)
	}
	var gates []*move
	flush := func() {
		if len(gates) > 0 {
			w.gates(gates)
			gates = nil
		}
	}
	for i := 0; i < len(ms); i++ {
		m := ms[i]
		if m.op != nil {
			gates = append(gates, m)
			continue
		}
		flush()
		switch {
		case m.rows != nil:
			rows := m.rows
			for i+1 < len(ms) && ms[i+1].rows != nil {
				i++
				rows = compose(ms[i].rows, rows)
			}
			w.permute(rows)
		case m.diag == nil:
			w.parity(m.term)
		case m.diag.constant:
			w.phase(phaseTable, int32(e.diagonalTable(m.diag)))
		default:
			w.diagonalPhases(m.diag)
		}
	}
	flush()
	if !w.open {
		w.begin(fromShared)
	}
	w.end(to)
	w.pass.words = append(w.pass.words, stageEnd)
	return w.pass
}

// compose returns the rows of the product a b.
func compose(a, b []uint64) []uint64 {
	c := make([]uint64, len(a))
	for i, r := range a {
		for ; r != 0; r &= r - 1 {
			c[i] ^= b[bits.TrailingZeros64(r)]
		}
	}
	return c
}
