package cpu

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// isWhole reports whether v, a value from load, is an element of an integer type.
func isWhole(v any) bool {
	switch v.(type) {
	case int64, uint64:
		return true
	}
	return false
}

// bigOf returns an integer or Bool from load exactly.
func bigOf(v any) *big.Int {
	switch v := v.(type) {
	case int64:
		return big.NewInt(v)
	case uint64:
		return new(big.Int).SetUint64(v)
	case bool:
		return big.NewInt(int64(bit(v)))
	}
	panic(v)
}

// wrapTo returns the number of the integer type t that is v modulo 2^bits, as load gives it.
func wrapTo(t dtype.DType, v *big.Int) any {
	one := big.NewInt(1)
	modulus := new(big.Int).Lsh(one, uint(8*t.Size()))
	m := new(big.Int).Mod(v, modulus)
	switch lo, hi := rangeOf(t); {
	case t == dtype.Uint64:
		return m.Uint64()
	case m.Cmp(hi) > 0 && lo.Sign() < 0:
		m.Sub(m, modulus)
	}
	return m.Int64()
}

// rangeOf returns the least and the greatest number of an integer type.
func rangeOf(t dtype.DType) (lo, hi *big.Int) {
	names := map[string][2]string{
		"int8": {"-128", "127"}, "int16": {"-32768", "32767"}, "int32": {"-2147483648", "2147483647"},
		"int64": {"-9223372036854775808", "9223372036854775807"},
		"uint8": {"0", "255"}, "uint16": {"0", "65535"}, "uint32": {"0", "4294967295"}, "uint64": {"0", "18446744073709551615"},
	}[t.String()]
	lo, _ = new(big.Int).SetString(names[0], 10)
	hi, _ = new(big.Int).SetString(names[1], 10)
	return lo, hi
}

func testInteger[T integer](t *testing.T, rng *rand.Rand, dt dtype.DType) {
	t.Helper()
	wantLo, wantHi := rangeOf(dt)
	lo, hi := bounds[T]()
	for _, c := range []struct {
		got  T
		want *big.Int
	}{{lo, wantLo}, {hi, wantHi}} {
		if load(dt, unsafe.Pointer(&c.got)) != wrapTo(dt, c.want) {
			t.Errorf("%v: bound %v, want %v", dt, c.got, c.want)
		}
	}
	k := integerOf(dt)
	if k != integerType(ints[T]{}) || int(unsafe.Sizeof(lo)) != dt.Size() {
		t.Errorf("%v has the kernels %T", dt, k)
	}
	// The nearest halves of the extreme numbers, and of random ones.
	for range 2000 {
		v := T(rng.Uint64() >> rng.IntN(64))
		if rng.IntN(8) == 0 {
			v = []T{lo, hi, hi - 1, hi/2 + 1}[rng.IntN(4)]
		}
		for _, to := range []dtype.DType{dtype.Float16, dtype.BFloat16} {
			var half uint16
			k.to(to)(unsafe.Pointer(&half), unsafe.Pointer(&v), 1)
			exact := new(big.Float).SetPrec(100).SetInt(bigOf(load(dt, unsafe.Pointer(&v))))
			if got, want := load(to, unsafe.Pointer(&half)), roundTo(exact, to); !same(got, want) {
				t.Fatalf("%v of %v: %v, want %v", to, v, got, want)
			}
		}
	}
}

// TestIntegerTypes compares the table of the integer types with their bounds, and the
// conversions to halves, which go through a shorter number, with exact rounding.
func TestIntegerTypes(t *testing.T) {
	rng := testrand.New(t)
	testInteger[int8](t, rng, dtype.Int8)
	testInteger[int16](t, rng, dtype.Int16)
	testInteger[int32](t, rng, dtype.Int32)
	testInteger[int64](t, rng, dtype.Int64)
	testInteger[uint8](t, rng, dtype.Uint8)
	testInteger[uint16](t, rng, dtype.Uint16)
	testInteger[uint32](t, rng, dtype.Uint32)
	testInteger[uint64](t, rng, dtype.Uint64)
	for _, dt := range dtype.All {
		if (integerOf(dt) != nil) != dt.IsInteger() || (wholeOf(dt) != nil) != (dt.IsInteger() || dt == dtype.Bool) {
			t.Errorf("%v has integer kernels: %v, as a whole number %v", dt, integerOf(dt), wholeOf(dt))
		}
	}
	if sticky(uint64(math.MaxUint64)) <= sticky(int64(math.MaxInt64)) || sticky(int64(math.MinInt64)) != -0x1p63 {
		t.Error("sticky of the largest numbers")
	}
}
