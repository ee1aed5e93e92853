package cpu

import "math"

// Logarithms by a table: x = 2^n z with z in [47/64, 47/32), and r = c z - 1 with c near 1/z from a table, so that
//
//	log(x) = n log(2) + log(1/c) + log(1 + r)
//
// The c have so few bits that r is exact, and |r| < 0.0342. Around 1, c is 1. log(1/c) is a sum of two numbers, the first a
// multiple of 2^-42, or 2^-43 for base 10, so that its sum with n log 2 is exact.

// logFrom holds the bits of 47/64.
const logFrom = 0x3fe78 << 44

// Rows of logTable64.
const (
	logInverse = 0
	logBinary  = 1 // the low parts are in row 2
	logDecimal = 3 // the low parts are in row 4
)

// logTable64 has an entry for each sixteenth of the bits between those of 47/64 and 47/32.
var logTable64 = [5][16]float64{
	{ // c
		1.34375, 1.28125, 1.21875, 1.1875, 1.15625, 1.09375, 1.0625, 1.03125,
		1, 0.9375, 0.890625, 0.84375, 0.796875, 0.765625, 0.71875, 0.6875,
	},
	{ // log2 1/c
		-0x1.b47ebf7388p-2, -0x1.6e221cd9d1p-2, -0x1.24407ab0ep-2, -0x1.fbc16b9026p-3,
		-0x1.acf5e2db4ep-3, -0x1.08c588cda8p-3, -0x1.663f6fac9p-4, -0x1.6bad3758fp-5,
		0, 0x1.7d60496cfcp-4, 0x1.563dc29ffap-3, 0x1.f5fd8a9064p-3,
		0x1.4f6fbb2cecp-2, 0x1.8a8980abfcp-2, 0x1.e7df5fe539p-2, 0x1.14c560fe688p-1,
	},
	{ // its rest
		-0x1.50520a377c7ecp-45, 0x1.90d43956fa5d8p-45, -0x1.ce60916e52e91p-44, -0x1.0144751b3314fp-44,
		-0x1.927dfc23d978p-44, 0x1.871a7610e40bdp-45, -0x1.3167ccc538261p-44, 0x1.3c6764fc87b4ap-48,
		0, -0x1.2ce6312ebb81dp-46, 0x1.964190e41bca7p-44, -0x1.cb6f70109b0f1p-47,
		0x1.661e393a16b95p-44, -0x1.66cccab240e9p-45, -0x1.532c412ba94dbp-44, 0x1.7c407050799bfp-44,
	},
	{ // log10 1/c
		-0x1.06cbd67a6cp-3, -0x1.b8de4d3ab4p-4, -0x1.5fe80488bp-4, -0x1.31b3055c48p-4,
		-0x1.02428c1f08p-4, -0x1.3ed1199a6p-5, -0x1.af5f92b01p-6, -0x1.b5e908eb1p-7,
		0, 0x1.cb38fccd88p-6, 0x1.9c197abfp-5, 0x1.2e3a740b78p-4,
		0x1.93e7de0fc4p-4, 0x1.db11ed766ap-4, 0x1.25ba8215afp-3, 0x1.4d43f8275ap-3,
	},
	{ // its rest
		-0x1.db2a2c6287ecp-46, 0x1.340511b402e0ap-47, 0x1.606adb567e739p-45, 0x1.dcffc97be8c9cp-45,
		-0x1.5ea6bc2bc8c2cp-52, 0x1.bdafc8ad828b8p-45, 0x1.9f05921f59258p-46, -0x1.bc807cba7f8dap-46,
		0, 0x1.fedb4b594a31bp-45, 0x1.badcf3d6e4566p-46, 0x1.d288560689912p-53,
		-0x1.80743406505e6p-48, 0x1.7e865b8783768p-45, 0x1.ff081a4e81f0bp-45, 0x1.20ca9a2bcc728p-45,
	},
}

// logEntry returns n, z from the number with the bits from on, and the index of its entry in a table of 2^bits entries.
func logEntry(x float64, from uint64, bits int) (n, z float64, i uint64) {
	b := math.Float64bits(x) + (one64 - from)
	n = math.Float64frombits(b>>52|0x4330<<48) - (0x1p52 + 1023)
	mantissa := b & (1<<52 - 1)
	return n, math.Float64frombits(mantissa + from), mantissa >> (52 - bits)
}

// logBase is a base of logarithms.
type logBase struct {
	table       int        // the row of logTable64
	two, twoLow float64    // log 2 as a sum of two numbers, the first with 42 bits
	e, eLow     float64    // log e as a sum of two numbers
	c           [9]float64 // (log(1 + r) - r log e)/r^2, lowest first, to 2^-60.8 of log(1 + r)/r
}

var logBase2 = logBase{
	table: logBinary, two: 1, e: 1 / math.Ln2, eLow: 0x1.777d0ffda0d24p-56,
	c: [9]float64{
		-0x1.71547652b82fep-1, 0x1.ec709dc3a02aap-2, -0x1.71547652b7e05p-2,
		0x1.2776c5119a7f4p-2, -0x1.ec709dce4997dp-3, 0x1.a6172ee0cbdcep-3,
		-0x1.71542ca06f4d8p-3, 0x1.49140bac8538ap-3, -0x1.2855cb3689fa9p-3,
	},
}

var logBase10 = logBase{
	table: logDecimal, two: 0x1.34413509f78p-2, twoLow: 0x1.fef311f12b358p-46, e: 1 / math.Ln10, eLow: 0x1.95355baaafad3p-57,
	c: [9]float64{
		-0x1.bcb7b1526e50ep-3, 0x1.287a7636f4292p-3, -0x1.bcb7b1526df12p-4,
		0x1.63c627784f1f2p-4, -0x1.287a763d5f707p-4, 0x1.fc3f67bc9826cp-5,
		-0x1.bcb7589529173p-5, 0x1.8c3ff0507d851p-5, -0x1.64d2b3ab8394dp-5,
	},
}

// log2F64 is exact for powers of 2, and log10F64 for powers of 10.
func log2F64(x float64) float64 { return logBase2.of(x) }

func log10F64(x float64) float64 { return logBase10.of(x) }

func (b *logBase) of(x float64) float64 {
	if !(x > 0 && x <= math.MaxFloat64) {
		return math.Log(x) // an infinity or NaN
	}
	down := 0.0
	if x < leastNormal {
		x, down = x*0x1p54, -54
	}
	n, z, i := logEntry(x, logFrom, 4)
	n += down
	r := math.FMA(z, logTable64[logInverse][i], -1) // exact
	a := math.FMA(n, b.two, logTable64[b.table][i]) // exact
	p, rest := twoProduct(r, b.e)
	rest = math.FMA(r, b.eLow, rest)
	sum := a + p // a is 0 or the larger
	low := ((a - sum) + p) + (rest + math.FMA(n, b.twoLow, logTable64[b.table+1][i]))
	square := float64(r * r)
	return sum + math.FMA(square, estrin(b.c[:], r), low)
}

// estrin returns the polynomial with these coefficients, lowest first, at most 16. It adds neighbours, then neighbours of these
// sums (Estrin's scheme), which a processor computes side by side.
func estrin(c []float64, x float64) float64 {
	var s [16]float64
	for n := copy(s[:], c); n > 1; n = (n + 1) / 2 {
		for i := range n / 2 {
			s[i] = math.FMA(s[2*i+1], x, s[2*i])
		}
		if n%2 != 0 {
			s[n/2] = s[n-1]
		}
		x *= x
	}
	return s[0]
}
