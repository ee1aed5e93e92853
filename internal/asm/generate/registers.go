package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/reg"
)

// checkRegisters returns an error for a function without AVX-512 that uses a vector register above the 16th.
// Processors with AVX2 do not have these registers, but avo allocates them if a program needs more than 16.
func checkRegisters(f *ir.Function) error {
	for _, isa := range f.ISA {
		if strings.HasPrefix(isa, "AVX512") {
			return nil
		}
	}
	for _, i := range f.Instructions() {
		for _, r := range i.Registers() {
			if p := reg.ToPhysical(r); p != nil && r.Kind() == reg.KindVector && p.PhysicalIndex() >= 16 {
				return fmt.Errorf("%s: %s needs register %s, which is AVX-512's", f.Name, i.OpcodeWithSuffixes(), p.Asm())
			}
		}
	}
	return nil
}
