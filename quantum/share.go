package quantum

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gpk-go/gpk"
)

// share is the part of one rank in a Gram matrix. K is cut into tiles of side by side entries. Rows of tiles are
// distributed to the rows of a grid of ranks, and columns of tiles to its columns. So a rank needs the states of about
// 1/rows + 1/columns of the samples. In a grid of one row, the tiles of a symmetric K are distributed one by one
// (gather).
//
// A rank's samples are gathered into compact sets, whose tiles are whole tiles of K. For a symmetric K there is one
// set: the union of the rows and columns of the rank's tiles.
type share struct {
	rank, ranks  int
	grid         [2]int // rows and columns of ranks
	side         int
	n, m         int // rows and columns of K
	symmetric    bool
	down, across []int          // for each row of tiles its row of the grid, and for each column of tiles its column of the grid
	sets         [2][]int       // the compact sets of x and y, as numbers of tiles of samples
	index        map[[2]int]int // the rank's tiles, numbered row by row
	loads        []load         // the work of every rank
	states       []bitset       // for each rank the tiles of samples whose states it builds: those of x, then those of a different y
	record       *record        // the finished tiles, or nil
	paired       *pairing       // two ranks that exchange states, or nil
}

// The maximum numbers of tiles in a row and of samples for a K that ranks compute.
const (
	maxTiles = 1 << 14
	maxDealt = 1 << 29
)

// newPart returns the part of a rank. side depends only on the arguments of Gram and the number of
// ranks, so it is the same on all ranks.
func (k *kernel) newPart(n, m int, o Options, rank, ranks int, gpu bool) (*share, error) {
	if min(n, m) < 0 {
		return nil, fmt.Errorf("%w: %d and %d samples", gpk.ErrShape, n, m)
	}
	if max(n, m) > maxDealt {
		return nil, fmt.Errorf("%w: %d against %d samples; ranks take at most %d", gpk.ErrUnsupported, n, m, maxDealt)
	}
	p := &share{rank: rank, ranks: ranks, n: n, m: m, symmetric: m == 0, index: map[[2]int]int{}, loads: make([]load, ranks)}
	if p.symmetric {
		p.m = n
	}
	p.grid[0] = int(math.Sqrt(float64(ranks)))
	for ranks%p.grid[0] != 0 {
		p.grid[0]--
	}
	p.grid[1] = ranks / p.grid[0]
	if p.m < p.n {
		p.grid[0], p.grid[1] = p.grid[1], p.grid[0]
	}
	most := p.chooseSide(k, o, gpu)
	rows, cols := (p.n+p.side-1)/p.side, (p.m+p.side-1)/p.side
	if rows > maxTiles || cols > maxTiles {
		return nil, fmt.Errorf("%w: %d x %d tiles of %d samples, and at most %d a row; a larger Tile, up to %d, makes fewer", gpk.ErrUnsupported, rows, cols, p.side, maxTiles, 2*most)
	}
	p.down = deal(rows, p.grid[0], func(i int) int64 { return int64(p.extent(i, p.n)) * (2*int64(p.m) - p.twiceBelow(i)) })
	p.across = deal(cols, p.grid[1], func(j int) int64 { return int64(p.extent(j, p.m)) * (1 + p.twiceBelow(j)) })
	if o.pairs(gpu) {
		p.pair(k, o)
	}
	p.gather()
	return p, nil
}

// chooseSide sets side, and returns the largest one. A tile is one product.
func (p *share) chooseSide(k *kernel, o Options, gpu bool) (most int) {
	whole, deals := 96, 8 // whole: a multiple of every micro-kernel's tile; deals: the minimum number of tiles of a rank in a row, because fewer cannot be distributed evenly
	single := min(p.grid[0], p.grid[1]) == 1
	switch {
	case gpu:
		// Long products use a GPU best. The columns of a triangle can be distributed in pairs of equal weight.
		whole, deals = 64, 4
		if single && p.symmetric {
			deals = 2
		}
		most = k.largestGPUSide(o)
	case single:
		deals = 4 // the work then differs by at most 1.2 %
		fallthrough
	default:
		most = max(k.side(o.Precision, maxWorkspace/workspacePart, 1), whole)
	}
	if p.side = min(o.Tile/2, most); p.side == 0 {
		fair := min((p.n+p.grid[0]-1)/p.grid[0], (p.m+p.grid[1]-1)/p.grid[1]) // rounded up, because a remaining sample would need one more row of tiles
		if gpu {
			p.side = (fair + deals - 1) / deals
			p.side = (p.side + whole - 1) / whole * whole // rounded up, because a narrow last tile would be an additional one
		} else {
			p.side = fair / deals / whole * whole
		}
		p.side = max(min(p.side, most), whole)
	}
	return most
}

// twiceBelow returns, for a symmetric K, twice the mean number of entries below the diagonal in a row of
// K within row t of tiles. It is also twice the mean number above the diagonal in a column of K
// within column t of tiles.
func (p *share) twiceBelow(t int) int64 {
	if !p.symmetric {
		return 0
	}
	return (2*int64(t) + 1) * int64(p.side)
}

// extent returns the number of samples of tile t of a set of n.
func (p *share) extent(t, n int) int { return min(p.side, n-t*p.side) }

// deal distributes n tiles to ranks. It takes the heaviest tile first, and gives each to the rank with the least weight
// so far. Of several such ranks it takes the first.
func deal(n, ranks int, weight func(i int) int64) []int {
	order, to, load := make([]int, n), make([]int, n), make([]int64, ranks)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weight(b), weight(a)) })
	heap := make([]int, ranks) // heap of ranks; the next one is first
	for r := range heap {
		heap[r] = r
	}
	before := func(a, b int) bool { return load[a] < load[b] || load[a] == load[b] && a < b }
	for _, i := range order {
		to[i] = heap[0]
		load[heap[0]] += weight(i)
		for at, child := 0, 1; child < ranks; at, child = child, 2*child+1 {
			if child+1 < ranks && before(heap[child+1], heap[child]) {
				child++
			}
			if !before(heap[child], heap[at]) {
				break
			}
			heap[at], heap[child] = heap[child], heap[at]
		}
	}
	return to
}

// maxEvened is the maximum number of tiles of a square K whose tiles on and above the diagonal are distributed one by
// one. A larger K has over 1,448 columns of tiles. Distributing whole columns is then even for up to 700 ranks.
const maxEvened = 1 << 21

// gather distributes the tiles. It sets the tiles of the rank and the samples that they need.
func (p *share) gather() {
	rows, cols := len(p.down), len(p.across)
	p.states = make([]bitset, p.ranks)
	for r := range p.states {
		p.states[r] = newBitset(rows + cols)
	}
	// In a grid of one row or column, every rank builds nearly all states of a symmetric K. So each of its tiles can
	// go to any rank.
	var even []int
	if p.paired != nil {
		even = p.paired.owners
	} else if p.symmetric && min(p.grid[0], p.grid[1]) == 1 && rows*cols <= maxEvened {
		var weights []int64
		for i := range rows {
			for j := i; j < cols; j++ {
				weights = append(weights, p.pairs(i, j))
			}
		}
		even = deal(len(weights), p.ranks, func(i int) int64 { return weights[i] })
	}
	number := 0
	for i := range rows {
		for j := p.first(i); j < cols; j++ {
			owner := p.down[i]*p.grid[1] + p.across[j]
			if even != nil {
				owner = even[number]
			}
			p.assign(i, j, owner)
			number++
		}
	}
	if p.paired != nil { // each rank receives the states of all samples
		for _, s := range p.states {
			for t := range rows {
				s.add(t)
			}
		}
	}
	for t := range rows {
		if p.states[p.rank].has(t) {
			p.sets[0] = append(p.sets[0], t)
		}
	}
	for t := range cols {
		if p.states[p.rank].has(rows + t) {
			p.sets[1] = append(p.sets[1], t)
		}
	}
}

// assign adds a tile to the work of a rank.
func (p *share) assign(i, j, rank int) {
	p.loads[rank].tiles++
	p.loads[rank].pairs += p.pairs(i, j)
	column := j
	if !p.symmetric {
		column += len(p.down)
	}
	p.states[rank].add(i)
	p.states[rank].add(column)
	if rank == p.rank {
		p.index[[2]int{i, j}] = len(p.index)
	}
}

// first returns the first column of tiles that is computed in row i of tiles.
func (p *share) first(i int) int {
	if p.symmetric {
		return i
	}
	return 0
}

// load is the work of a rank.
type load struct {
	tiles int
	pairs int64
}

// bitset is a set of small numbers.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) add(i int) { b[i/64] |= 1 << (i % 64) }

func (b bitset) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }

// samples returns the number of samples whose states a rank builds.
func (p *share) samples(rank int) (n int64) {
	for t := range p.down {
		if p.states[rank].has(t) {
			n += int64(p.extent(t, p.n))
		}
	}
	for t := range p.across {
		if p.states[rank].has(len(p.down) + t) {
			n += int64(p.extent(t, p.m))
		}
	}
	return n
}

// pairs returns the number of entries of a tile that are computed.
func (p *share) pairs(i, j int) int64 {
	r, c := int64(p.extent(i, p.n)), int64(p.extent(j, p.m))
	if p.symmetric && i == j {
		return r * (r + 1) / 2
	}
	return r * c
}

// elements returns the number of elements in the rank's tiles and, with mirrors, in their mirrors.
func (p *share) elements(mirrors bool) (n int64) {
	for at := range p.index {
		one := int64(p.extent(at[0], p.n)) * int64(p.extent(at[1], p.m))
		if n += one; mirrors && p.symmetric && at[0] != at[1] {
			n += one
		}
	}
	return n
}

// size returns the number of samples of a compact set.
func (p *share) size(set int) (n int) {
	for _, t := range p.sets[set] {
		n += p.extent(t, [2]int{p.n, p.m}[set])
	}
	return n
}

// at returns the index in x or y of sample i of a compact set. p may be nil.
func (p *share) at(set, i int) int {
	if p == nil {
		return i
	}
	return p.sets[set][i/p.side]*p.side + i%p.side
}

// ySet returns the number of the compact set of K's columns.
func (p *share) ySet() int {
	if p.symmetric {
		return 0
	}
	return 1
}

// tile returns the number of the tile that begins at (i, j) of the compact sets. wanted reports whether the rank has
// not computed it yet.
func (p *share) tile(i, j int) (number int, wanted bool) {
	number, mine := p.index[[2]int{p.sets[0][i/p.side], p.sets[p.ySet()][j/p.side]}]
	return number, mine && !p.record.has(number)
}

// left returns the number of entries that the rank has not computed yet.
func (p *share) left() (n int64) {
	for at, number := range p.index {
		if !p.record.has(number) {
			n += p.pairs(at[0], at[1])
		}
	}
	return n
}

// compact returns the samples of a compact set, and frees s.
func (p *share) compact(s *samples, set int) (*samples, error) {
	out := &samples{name: s.name, features: s.features, n: p.size(set), number: func(i int) int { return p.at(set, i) }}
	if s.array != nil {
		var err error
		if out.array, err = p.compactArray(s.array, set); err != nil {
			return nil, err
		}
		if out.array != s.array {
			out.made = out.array
		}
		return out, nil
	}
	for _, t := range p.sets[set] {
		lo := t * p.side * s.features
		out.data = append(out.data, s.data[lo:min(lo+p.side*s.features, s.n*s.features)]...)
	}
	s.free()
	return out, nil
}
