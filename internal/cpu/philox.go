package cpu

// Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1,
// 2, 3" (2011): ten rounds map a counter of four words and a key of two words to four
// random words.
const (
	philoxMul0, philoxMul1      = 0xD2511F53, 0xCD9E8D57
	philoxKey0, philoxKey1      = 0x9E3779B9, 0xBB67AE85 // added to the key in each round
	philoxRounds                = 10
	philoxWords                 = 4 // per block
	philoxChunk                 = 256
	philoxGrain                 = 4 * philoxChunk // blocks per goroutine, at least
	_                      uint = philoxGrain % philoxChunk
)

// philox returns the block of one counter.
func philox(c0, c1, c2, c3, k0, k1 uint32) (w0, w1, w2, w3 uint32) {
	for range philoxRounds {
		p, q := philoxMul0*uint64(c0), philoxMul1*uint64(c2)
		c0, c1, c2, c3 = uint32(q>>32)^c1^k0, uint32(q), uint32(p>>32)^c3^k1, uint32(p)
		k0 += philoxKey0
		k1 += philoxKey1
	}
	return c0, c1, c2, c3
}

// philoxFill sets words to consecutive blocks from the given number on, under the key seed.
// The low half of the counter is the block number, the high half 0. The length of words is
// a multiple of a block.
func philoxFill(words []uint32, seed, block uint64) {
	for {
		done := philoxVector(words, seed, block)
		if done == 0 {
			break
		}
		words, block = words[done:], block+uint64(done/philoxWords)
	}
	k0, k1 := uint32(seed), uint32(seed>>32)
	for i := 0; i+philoxWords <= len(words); i += philoxWords {
		w := words[i : i+philoxWords : i+philoxWords]
		w[0], w[1], w[2], w[3] = philox(uint32(block), uint32(block>>32), 0, 0, k0, k1)
		block++
	}
}
