package quantum

import "testing"

// stage is the beginning of a pass's stage.
type stage struct{ kind, from, to int32 }

// stagesOf reads the stages of a pass, as the kernel does.
func stagesOf(t *testing.T, words []int32, qubits int) (list []stage) {
	t.Helper()
	for len(words) > 0 && words[0] != stageEnd {
		if words[0] == stageGates {
			list = append(list, stage{kind: stageGates})
			words = words[3+groupBits+5*words[2]:]
			continue
		}
		s := stage{words[0], words[1], words[2]}
		phases := words[3]
		words = words[4:]
		if s.from == fromProduct || s.from == fromLongProduct {
			words = words[qubits:]
		}
		for range phases {
			words = words[words[1]:]
		}
		if s.to == toPermuted {
			words = words[qubits:]
		}
		list = append(list, s)
	}
	if len(words) != 1 {
		t.Fatalf("%d words behind the last stage", len(words)-1)
	}
	return list
}

// TestTurned: the last stage of the last pass turns the states of a kernel, where there
// are enough amplitudes, and nothing else does: not States, not a table. Their lengths are
// right by themselves, or they are divided by them.
func TestTurned(t *testing.T) {
	for _, q := range []int{2, turnedQubits - 1, turnedQubits, 13, 14, 18} {
		for name, c := range map[string]*Circuit{"ring": ringCZ(q, true), "real": ringCZ(q, false), "layers": reuploaded(q)} {
			k := compiled(t, c, General)
			p := k.blocks[0]
			check := func(what string, code *circuitCode, kernel bool) {
				first, last := int32(fromProduct), int32(toState)
				if kernel && q >= turnedQubits {
					if last = toRotated; !code.grows {
						first = fromLongProduct
					}
				}
				for i, pass := range code.passes {
					stages := stagesOf(t, pass.words, q)
					for j, s := range stages {
						if s.kind != stageChunk {
							continue
						}
						begins, ends := i == 0 && j == 0, i == len(code.passes)-1 && j == len(stages)-1
						if (s.from == first) != begins || !begins && (s.from == fromProduct || s.from == fromLongProduct) {
							t.Errorf("%d qubits, %s, %s: stage %d of pass %d comes from %d", q, name, what, j, i, s.from)
						}
						if ends && s.to != last || !ends && s.to == toRotated {
							t.Errorf("%d qubits, %s, %s: stage %d of pass %d goes to %d", q, name, what, j, i, s.to)
						}
					}
				}
				for _, table := range code.tables {
					for _, pass := range table.passes {
						for _, s := range stagesOf(t, pass.words, q) {
							if s.to == toRotated {
								t.Errorf("%d qubits, %s, %s: a table is turned", q, name, what)
							}
						}
					}
				}
			}
			check("states", encode(p, false), false)
			check("kernel", k.encoded().blocks[0], true)
		}
	}
}
