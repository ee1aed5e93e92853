package asm

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// Instruction adds an instruction to the active function, as the methods of build.Context do.
type Instruction = func(c *build.Context, operands ...operand.Op)

// Ternary adds an instruction of three operands.
type Ternary = func(c *build.Context, first, second, third operand.Op)

// Float is a floating-point type of elements: its size and its instructions. Those whose names end in One work on the
// lowest element of a vector.
type Float struct {
	Name   string // the suffix of functions' names: "32" or "64"
	Log    int    // the logarithm of Size
	Size   int    // in bytes
	Double bool   // float64

	Broadcast       Instruction
	Add, Sub        Instruction
	Mul, Div        Instruction
	Max, Min        Instruction
	UnpackLow       Instruction // interleaves the lower halves of each 16 bytes
	UnpackHigh      Instruction // interleaves the upper halves of each 16 bytes
	Sqrt            Instruction
	Round           Ternary     // VROUNDPS or VROUNDPD: mode, source, destination
	Compare         Instruction // VCMPPS or VCMPPD
	Multiply        Instruction // VFMADD231: the third operand += the product of the others
	MultiplyBCST    Instruction // Multiply whose first operand is one element in memory, with AVX-512
	MoveOne, AddOne Instruction
	MultiplyOne     Instruction // VFMADD231SS or VFMADD231SD
	LoadMasked      Ternary     // with AVX-512: memory, opmask, destination, whose other elements become 0
	StoreMasked     Instruction // with AVX-512: source, opmask, memory
	MaskMove        Ternary     // VMASKMOVPS or VMASKMOVPD
}

// Float32 and Float64 are the types float32 and float64.
var (
	Float32 = Float{
		Name: "32", Log: 2, Size: 4,
		Broadcast: (*build.Context).VBROADCASTSS,
		Add:       (*build.Context).VADDPS, Sub: (*build.Context).VSUBPS,
		Mul: (*build.Context).VMULPS, Div: (*build.Context).VDIVPS,
		Max: (*build.Context).VMAXPS, Min: (*build.Context).VMINPS,
		UnpackLow: (*build.Context).VUNPCKLPS, UnpackHigh: (*build.Context).VUNPCKHPS,
		Sqrt: (*build.Context).VSQRTPS, Round: (*build.Context).VROUNDPS,
		Compare:  (*build.Context).VCMPPS,
		Multiply: (*build.Context).VFMADD231PS, MultiplyBCST: (*build.Context).VFMADD231PS_BCST,
		MoveOne: (*build.Context).VMOVSS, AddOne: (*build.Context).VADDSS,
		MultiplyOne: (*build.Context).VFMADD231SS,
		LoadMasked:  (*build.Context).VMOVUPS_Z, StoreMasked: (*build.Context).VMOVUPS, MaskMove: (*build.Context).VMASKMOVPS,
	}
	Float64 = Float{
		Name: "64", Log: 3, Size: 8, Double: true,
		Broadcast: (*build.Context).VBROADCASTSD,
		Add:       (*build.Context).VADDPD, Sub: (*build.Context).VSUBPD,
		Mul: (*build.Context).VMULPD, Div: (*build.Context).VDIVPD,
		Max: (*build.Context).VMAXPD, Min: (*build.Context).VMINPD,
		UnpackLow: (*build.Context).VUNPCKLPD, UnpackHigh: (*build.Context).VUNPCKHPD,
		Sqrt: (*build.Context).VSQRTPD, Round: (*build.Context).VROUNDPD,
		Compare:  (*build.Context).VCMPPD,
		Multiply: (*build.Context).VFMADD231PD, MultiplyBCST: (*build.Context).VFMADD231PD_BCST,
		MoveOne: (*build.Context).VMOVSD, AddOne: (*build.Context).VADDSD,
		MultiplyOne: (*build.Context).VFMADD231SD,
		LoadMasked:  (*build.Context).VMOVUPD_Z, StoreMasked: (*build.Context).VMOVUPD, MaskMove: (*build.Context).VMASKMOVPD,
	}
	Floats = []Float{Float32, Float64}
)
