package cpu

import "math"

// The logarithm of a power is that of log_table64.go with 32 entries, so that |r| < 0.0198, and z from 99/128 on.

// powFrom holds the bits of 99/128, where the range of z begins.
const powFrom = 0x3fe8c << 44

// powTable64 has an entry for each 32nd of the bits between those of 99/128 and 99/64.
var powTable64 = [3][32]float64{
	{ // c
		1.28125, 1.25, 1.234375, 1.203125, 1.1875, 1.15625, 1.140625, 1.125,
		1.109375, 1.078125, 1.0625, 1.046875, 1.03125, 1.015625, 1, 0.96875,
		0.9375, 0.9140625, 0.890625, 0.859375, 0.84375, 0.8203125, 0.796875, 0.78125,
		0.765625, 0.7421875, 0.7265625, 0.7109375, 0.6953125, 0.6796875, 0.6640625, 0.65625,
	},
	{ // log 1/c
		-0x1.fb9186d5e4p-3, -0x1.c8ff7c79aap-3, -0x1.af3c94e80cp-3, -0x1.7ab890210ep-3,
		-0x1.5ff3070a7ap-3, -0x1.29552f82p-3, -0x1.0d77e7cd08p-3, -0x1.e27076e2bp-4,
		-0x1.a926d3a4acp-4, -0x1.341d7961bcp-4, -0x1.f0a30c0118p-5, -0x1.77458f633p-5,
		-0x1.f829b0e78p-6, -0x1.fc0a8b0fcp-7, 0, 0x1.0415d89e78p-5,
		0x1.08598b59e4p-4, 0x1.700d30aeacp-4, 0x1.da72763844p-4, 0x1.365fcb015ap-3,
		0x1.5bf406b544p-3, 0x1.95a5adcf7p-3, 0x1.d1037f2656p-3, 0x1.f991c6cb3cp-3,
		0x1.1178e8227ep-2, 0x1.314f1e1d36p-2, 0x1.4718dc271cp-2, 0x1.5d5bddf596p-2,
		0x1.741d876c68p-2, 0x1.8b639a88b3p-2, 0x1.a33440225p-2, 0x1.af5295248dp-2,
	},
	{ // its rest
		0x1.d572aab993c87p-47, 0x1.7794f689f8434p-45, 0x1.a4e633fcd9066p-52, 0x1.bdb9072534a58p-45,
		0x1.8586f183bebf2p-44, 0x1.5b967f4471dfcp-44, -0x1.cb2cd2ee2f482p-44, 0x1.a342c2af0003cp-45,
		-0x1.563650bd22a9cp-44, -0x1.1d0929983761p-44, 0x1.d599e83368e91p-45, 0x1.181dce586af09p-44,
		-0x1.980267c7e09e4p-45, -0x1.f1e7cf6d3a69cp-50, 0, -0x1.dddc7f461c516p-44,
		-0x1.7e5dd7009902cp-46, 0x1.c1e8da99ded32p-49, 0x1.a89401fa71733p-46, -0x1.fd3a0afb9691bp-44,
		-0x1.27023eb68981cp-46, 0x1.7f22858a0ff6fp-47, -0x1.84a7e75b6f6e4p-47, -0x1.90d04cd7cc834p-44,
		0x1.1ef78ce2d07f2p-44, -0x1.8e27ad3213cb8p-45, 0x1.06c18fb4c14c5p-44, -0x1.a0b2a08a465dcp-47,
		-0x1.13a7b5b11cfa7p-44, -0x1.05ae1e5e7047p-45, -0x1.61cdd40314305p-44, -0x1.17cc552774458p-45,
	},
}

// powLog are the coefficients of (log(1 + r) - r + r^2/2)/r^3, lowest first, to 2^-68.8 of log(1 + r)/r^2.
var powLog = [8]float64{
	0x1.5555555555553p-2, -0x1.ffffffffffff3p-3, 0x1.99999999b9e9fp-3, -0x1.555555558d89bp-3,
	0x1.24924553c70f1p-3, -0x1.fffff5d8d949p-4, 0x1.c777459e5e266p-4, -0x1.99fbebdfb1183p-4,
}

// logSum returns log(x) + down log(2) of a normal x as a sum of two numbers, with an error of 2^-65 of it.
func logSum(x, down float64) (high, low float64) {
	n, z, i := logEntry(x, powFrom, 5)
	n += down
	r := math.FMA(z, powTable64[0][i], -1)      // exact
	a := math.FMA(n, ln2High, powTable64[1][i]) // exact
	sum := a + r
	rest := (a - sum) + r
	h, h1 := twoProduct(-0.5*r, r)
	high = sum + h
	rest = (rest + ((sum - high) + h)) + (h1 + math.FMA(n, ln2Low, powTable64[2][i]))
	square := float64(r * r)
	rest = math.FMA(float64(square*r), estrin(powLog[:], r), rest)
	sum = high + rest
	return sum, (high - sum) + rest
}
