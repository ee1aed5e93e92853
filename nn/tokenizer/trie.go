package tokenizer

import (
	"maps"
	"slices"
)

// trie finds the longest of many strings at the beginning of a text. The children of a node are contiguous. A
// step scans them, or uses the node's table if there are many.
type trie struct {
	nodes  []trieNode
	labels []byte       // labels[i] leads to nodes[i]
	wide   [][256]int32 // the child by its label, or -1
}

// wideNode is the smallest number of children for which a node has a table. A table takes 1 KB, and the
// strings of so many children take at least 7 bytes each in a file.
const wideNode = 8

type trieNode struct {
	first int32 // the first child, or the number of the table in wide
	count uint16
	id    int32 // the id of the string that ends here, or -1
}

// newTrie makes a trie of strings and their ids. It never finds the empty string.
func newTrie(ids map[string]int32) *trie {
	keys := slices.Sorted(maps.Keys(ids))
	t := &trie{nodes: []trieNode{{id: -1}}, labels: []byte{0}}
	type span struct{ node, from, to, depth int32 } // keys[from:to] pass through node
	level := []span{{0, 0, int32(len(keys)), 0}}
	for len(level) > 0 {
		var next []span
		for _, s := range level {
			from := s.from
			if from < s.to && len(keys[from]) == int(s.depth) {
				if s.depth > 0 {
					t.nodes[s.node].id = ids[keys[from]]
				}
				from++
			}
			t.nodes[s.node].first = int32(len(t.nodes))
			for from < s.to {
				b := keys[from][s.depth]
				to := from + 1
				for to < s.to && keys[to][s.depth] == b {
					to++
				}
				t.nodes[s.node].count++
				next = append(next, span{int32(len(t.nodes)), from, to, s.depth + 1})
				t.nodes = append(t.nodes, trieNode{id: -1})
				t.labels = append(t.labels, b)
				from = to
			}
		}
		level = next
	}
	t.widen()
	return t
}

// widen makes the tables of nodes with many children.
func (t *trie) widen() {
	for i := range t.nodes {
		n := &t.nodes[i]
		if n.count < wideNode {
			continue
		}
		var table [256]int32
		for b := range table {
			table[b] = -1
		}
		for child := n.first; child < n.first+int32(n.count); child++ {
			table[t.labels[child]] = child
		}
		n.first = int32(len(t.wide))
		t.wide = append(t.wide, table)
	}
}

// step returns the child of a node, or -1.
func (t *trie) step(at int32, b byte) int32 {
	n := &t.nodes[at]
	if n.count >= wideNode {
		return t.wide[n.first][b]
	}
	first := int(n.first)
	for i, c := range t.labels[first : first+int(n.count)] {
		if c == b {
			return int32(first + i)
		}
	}
	return -1
}

// walk returns the node of the string s below a node, or -1.
func (t *trie) walk(at int32, s string) int32 {
	for i := 0; i < len(s) && at >= 0; i++ {
		at = t.step(at, s[i])
	}
	return at
}

// longest returns the id and the length of the longest string below a node that is a prefix of s. The length
// is 0 if there is none.
func (t *trie) longest(at int32, s string) (id int32, n int) {
	for i := 0; i < len(s); i++ {
		if at = t.step(at, s[i]); at < 0 {
			break
		}
		if t.nodes[at].id >= 0 {
			id, n = t.nodes[at].id, i+1
		}
	}
	return id, n
}
