//go:build !noasm

package cpu

// cpuid runs the CPUID instruction.
func cpuid(leaf, sub uint32) (eax, ebx, ecx, edx uint32)

// l2Bytes returns the size of one core's second-level cache. It reads leaf 4 (Intel) or
// leaf 0x8000001D (AMD), which describe one cache per sub-leaf. The result is 0 if the
// processor has neither.
func l2Bytes() int {
	top, _, _, _ := cpuid(0, 0)
	topExt, _, _, _ := cpuid(0x80000000, 0)
	for _, leaf := range []uint32{4, 0x8000001D} {
		if leaf < 0x80000000 && leaf > top || leaf > 0x80000000 && leaf > topExt {
			continue
		}
		for sub := range uint32(8) {
			eax, ebx, ecx, _ := cpuid(leaf, sub)
			if eax&31 == 0 { // no more caches
				break
			}
			if eax>>5&7 == 2 {
				ways, partitions, line, sets := ebx>>22+1, ebx>>12&1023+1, ebx&4095+1, ecx+1
				return int(ways) * int(partitions) * int(line) * int(sets)
			}
		}
	}
	return 0
}
