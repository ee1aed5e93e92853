package compose

import (
	"fmt"
	"math"
	"math/bits"
)

// contraction is a tree of pairwise products. A node is an operand or a product of two
// contractions.
type contraction struct {
	operand     int
	left, right *contraction
}

// String prints the tree: "((0 2) 1)".
func (c *contraction) String() string {
	if c.left == nil {
		return fmt.Sprint(c.operand)
	}
	return fmt.Sprintf("(%v %v)", c.left, c.right)
}

// exhaustive is the number of operands up to which all orders are compared, which takes
// 3^n pairs of subsets.
const exhaustive = 8

// cheapest returns the order of contraction with the fewest multiplications, and their
// number. For more than `exhaustive` operands it repeatedly contracts the cheapest pair.
// Bit l of operands[i] is set if operand i has label l, and bit l of output if the result
// has it. lengths are the lengths of the labels.
func cheapest(operands []uint64, output uint64, lengths []int) (*contraction, float64) {
	if len(operands) > exhaustive {
		return greedy(operands, output, lengths)
	}
	n := len(operands)
	labels := make([]uint64, 1<<n) // the labels of the product of each subset
	for set := 1; set < 1<<n; set++ {
		inside, outside := uint64(0), output
		for i, m := range operands {
			if set>>i&1 == 1 {
				inside |= m
			} else {
				outside |= m
			}
		}
		labels[set] = inside & outside
	}
	cost, half := make([]float64, 1<<n), make([]int, 1<<n)
	for i, m := range operands {
		labels[1<<i] = m
	}
	for set := 1; set < 1<<n; set++ {
		if set&(set-1) == 0 {
			continue
		}
		cost[set] = math.Inf(1)
		lowest := set & -set // it is in the left half, so that each pair is considered once
		for left := (set - 1) & set; left > 0; left = (left - 1) & set {
			right := set &^ left
			if left&lowest == 0 {
				continue
			}
			c := cost[left] + cost[right] + volume(labels[left]|labels[right], lengths)
			if half[set] == 0 || c < cost[set] {
				cost[set], half[set] = c, left
			}
		}
	}
	var tree func(set int) *contraction
	tree = func(set int) *contraction {
		if set&(set-1) == 0 {
			return &contraction{operand: bits.TrailingZeros(uint(set))}
		}
		return &contraction{left: tree(half[set]), right: tree(set &^ half[set])}
	}
	return tree(1<<n - 1), cost[1<<n-1]
}

// greedy contracts the cheapest pair until one contraction is left.
func greedy(operands []uint64, output uint64, lengths []int) (*contraction, float64) {
	trees, labels := make([]*contraction, len(operands)), append([]uint64{}, operands...)
	for i := range trees {
		trees[i] = &contraction{operand: i}
	}
	total := 0.0
	for len(trees) > 1 {
		best, at, with := math.Inf(1), 0, 1
		for i := range trees {
			for j := i + 1; j < len(trees); j++ {
				if c := volume(labels[i]|labels[j], lengths); c < best {
					best, at, with = c, i, j
				}
			}
		}
		total += best
		outside := output
		for i, m := range labels {
			if i != at && i != with {
				outside |= m
			}
		}
		trees[at] = &contraction{left: trees[at], right: trees[with]}
		labels[at] = (labels[at] | labels[with]) & outside
		trees = append(trees[:with], trees[with+1:]...)
		labels = append(labels[:with], labels[with+1:]...)
	}
	return trees[0], total
}

// volume returns the product of the lengths of a set of labels.
func volume(set uint64, lengths []int) float64 {
	v := 1.0
	for ; set != 0; set &= set - 1 {
		v *= float64(lengths[bits.TrailingZeros64(set)])
	}
	return v
}
