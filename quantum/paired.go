package quantum

// pairing describes how two ranks on GPUs share a symmetric K: each builds the states of its half of the samples and
// receives those of the other half.
//
//	K = | A  B |    rank 0 computes A and some tiles of B, rank 1 computes C and the others
//	    |    C |
//
// A and C need no states of the other rank. So they are computed while the states move.
type pairing struct {
	mid int // samples of rank 0, whole tiles; the tiles of A and C end there
	n   int

	owners []int // ranks of the tiles on and above the diagonal, row by row
}

// exchanging reports whether arrays move between the GPUs of the ranks without the host.
func exchanging(r Ranks) bool {
	d, ok := r.(interface{ Direct() bool })
	return ok && d.Direct()
}

// pairs reports whether two ranks exchange states. It depends only on the arguments of Gram and on the group, so it is
// the same on both. Ranks do not exchange states with Normalize: the norms would be computed from all states.
func (o *Options) pairs(gpu bool) bool {
	return gpu && o.Group != nil && o.File == "" && !o.Normalize && o.Group.Size() == 2 && exchanging(o.Group)
}

// leastPaired is the minimum estimated time of a rank's tiles, in seconds, for which two ranks exchange states. Before
// the exchange they compare their arguments, which takes some milliseconds. On two H200s, K of 20,000 samples and 10
// qubits took 6.6 ms with an exchange and 5.7 ms without; with 12 qubits it took 18.8 and 19.8 ms
// (benchmark/results/gram-exchange_h200x2_2026-11-28.txt). A test lowers it.
var leastPaired = 0.01

// mostUneven is the maximum of the larger of the two ranks' work, as a multiple of the mean, for which they exchange
// states. A test raises it.
var mostUneven = 1.05

// pair divides the samples between two ranks, if that saves time and their work is nearly equal.
func (p *share) pair(k *kernel, o Options) {
	rows := (p.n + p.side - 1) / p.side
	if !p.symmetric || rows < 2 || k.tileSeconds(o.Precision, p.n, p.n)/4 < leastPaired {
		return
	}
	p.paired = &pairing{mid: (rows + 1) / 2 * p.side, n: p.n}
	load := p.dealPaired(rows)
	if 2*float64(max(load[0], load[1])) > mostUneven*float64(load[0]+load[1]) { // there are few tiles, and the last one is short
		p.paired = nil
	}
}

// own returns the samples whose states a rank builds.
func (p *pairing) own(rank int) (lo, hi int) {
	if rank == 0 {
		return 0, p.mid
	}
	return p.mid, p.n
}

// dealPaired assigns a rank to every tile on and above the diagonal, row by row. Tiles of A belong to rank 0, and those of C
// to rank 1. A tile of B goes to the rank that has less work so far. dealPaired returns the work of both ranks.
func (p *share) dealPaired(rows int) (load [2]int64) {
	half := p.paired.mid / p.side
	both := -1 // the rank of the tiles of B that have none yet
	owners := &p.paired.owners
	for i := range rows {
		for j := i; j < rows; j++ {
			rank := both
			if j < half {
				rank = 0
			} else if i >= half {
				rank = 1
			}
			if *owners = append(*owners, rank); rank != both {
				load[rank] += p.pairs(i, j)
			}
		}
	}
	number := 0
	for i := range rows {
		for j := i; j < rows; j++ {
			if rank := &(*owners)[number]; *rank == both {
				if *rank = 0; load[1] < load[0] {
					*rank = 1
				}
				load[*rank] += p.pairs(i, j)
			}
			number++
		}
	}
	return load
}

// planExchange plans the memory for the exchange, unless it does not fit: a rank's own states, padded to those of rank 0,
// and those of all samples.
func (k *kernel) planExchange(p *Plan, pt *share, o Options) {
	more := saturated(int64(3*pt.paired.mid-pt.n), k.stateBytes(o.Precision))
	more += roundingWaste(more, 2*int64(len(k.blocks)))
	if p.Keep != KeepAll || len(k.blocks) == 0 || p.PeakBytes+more > p.Budget {
		return
	}
	lo, hi := pt.paired.own(pt.rank)
	p.exchange = true
	p.States, p.PeakBytes = p.States+more, p.PeakBytes+more
	r := &p.Ranks
	r.Samples, r.MostSamples, r.Rebuilt, r.Exchanged = int64(hi-lo), int64(pt.paired.mid), 0, 0
	r.Received = saturated(int64(pt.n-(hi-lo)), k.stateBytes(o.Precision))
}
