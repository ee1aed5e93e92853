//go:build !noasm

package cpu

import "math"

// biasRowAVX2 is the loop of epilogue.apply without an activation, for n elements, a
// multiple of 8 and above 0.
//
//go:noescape
func biasRowAVX2(x *float32, bias *float64, alpha float64, n int)

//go:noescape
func biasRowAVX512(x *float32, bias *float64, alpha float64, n int)

// geluRowAVX2 is the loop of epilogue.apply with ActGELU, for n elements, a multiple of 8
// and above 0. It stops before a vector with NaN or an element beyond epilogueLimit, and
// returns the number of elements before that vector. table is epilogueTable.
//
//go:noescape
func geluRowAVX2(x *float32, bias *float64, alpha float64, table *float64, n int) (done int)

//go:noescape
func geluRowAVX512(x *float32, bias *float64, alpha float64, table *float64, n int) (done int)

// geluTanhRowAVX2 and siluRowAVX2 are geluRowAVX2 for ActGELUTanh and ActSiLU. siluRowAVX2 stops
// beyond siluLimit.
//
//go:noescape
func geluTanhRowAVX2(x *float32, bias *float64, alpha float64, table *float64, n int) (done int)

//go:noescape
func geluTanhRowAVX512(x *float32, bias *float64, alpha float64, table *float64, n int) (done int)

//go:noescape
func siluRowAVX2(x *float32, bias *float64, alpha float64, table *float64, n int) (done int)

//go:noescape
func siluRowAVX512(x *float32, bias *float64, alpha float64, table *float64, n int) (done int)

// siluLimit bounds |x| in siluRowAVX2: nearExp does not test for large x there.
const siluLimit = 700

// epilogueLimit bounds |x| in geluRowAVX2: normalCDF(-16) needs neither its test for large x
// nor those of nearExp.
const epilogueLimit = 16

// epilogueTable has the constants of the assembly, each four times, in the order of epilogueConstants in
// internal/asm/cpu/epilogue.go.
var epilogueTable = func() (table [len(epilogueConstants)][4]float64) {
	for i, v := range epilogueConstants {
		table[i] = [4]float64{v, v, v, v}
	}
	return table
}()

var epilogueConstants = [...]float64{
	epilogueLimit, 1 / math.Sqrt2, 2.5, 1, 0, math.Log2E, nearExpShift, math.Ln2,
	math.Float64frombits(1023), math.Float64frombits(1<<63 - 1),

	// the polynomial of normalCDF
	0.3689111370561211, -0.12352337497226269, 0.038172171244627406, 0.008149242636298194,
	-0.015761300854815502, 0.007191499273695665, -0.00042631955518362453, -0.0008748818729247364,
	0.00017575254728826602, 0.00012087499228371335, -2.4232329472209004e-05, -1.6152551793286844e-05,

	// the polynomial of nearExp
	0.9999999999619437, 1.0000000002580818, 0.5000000104139753, 0.16666665024159208,
	0.04166622631060884, 0.008333578290408268, 0.0013948134040547085, 0.00019766918586338006,

	siluLimit, -2 * root2OverPi, 0.044715,
}

// vectorRow applies the epilogue to the first elements of a row, and returns their number.
func (e *epilogue[T]) vectorRow(x []T, bias []float64) (done int) {
	row, ok := any(x).([]float32)
	n := len(x) &^ 7
	if !ok || !vectorAVX || bias == nil || n == 0 {
		return 0
	}
	if e.act == ActNone {
		if vectorAVX512 {
			biasRowAVX512(&row[0], &bias[0], e.alpha, n)
		} else {
			biasRowAVX2(&row[0], &bias[0], e.alpha, n)
		}
		return n
	}
	if curve := e.act.curve(); curve != nil {
		return curve(&row[0], &bias[0], e.alpha, &epilogueTable[0][0], n)
	}
	return 0
}

// curve returns the row function of an activation, or nil.
func (a Activation) curve() func(x *float32, bias *float64, alpha float64, table *float64, n int) (done int) {
	switch {
	case a == ActGELU && vectorAVX512:
		return geluRowAVX512
	case a == ActGELU:
		return geluRowAVX2
	case a == ActGELUTanh && vectorAVX512:
		return geluTanhRowAVX512
	case a == ActGELUTanh:
		return geluTanhRowAVX2
	case a == ActSiLU && vectorAVX512:
		return siluRowAVX512
	case a == ActSiLU:
		return siluRowAVX2
	}
	return nil
}
