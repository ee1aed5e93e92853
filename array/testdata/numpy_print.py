"""Writes random arrays and what NumPy prints for them, one JSON object a line:

    {"dtype": "float32", "shape": [2, 3], "elements": hexadecimal bytes, "text": str(array)}

The elements are little-endian, in row-major order. Where they are fewer than the shape
takes, they repeat. Arguments: a seed, the number of arrays of each type, and "small" for
arrays of a few elements, such as those of numpy_print.jsonl:

    python numpy_print.py 1 18 small >numpy_print.jsonl

NumPy has no bfloat16. Class Rules states how NumPy prints floating-point numbers for any
width of the significand. It is compared with NumPy on every array of float16 and float32,
and gives the text of bfloat16.
"""

import json
import math
import sys
from fractions import Fraction

import numpy as np
from numpy._core import arrayprint

TYPES = ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool", "complex64", "complex128", "int16", "uint16", "uint32", "uint64"]
SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0]
LIMITS = [1e-4, 1e-3, 1, 1e2, 1e3, 1e6, 1e8, 1e16, 9.9999999995, 0.99999999, 0.5, 1e-5, 0.000226, 12345678.9]


class Rules:
    """Prints an array of numbers with so many stored bits in the significand."""

    def __init__(self, bits, lowest, cutoff, narrow):
        self.bits, self.lowest, self.cutoff, self.narrow = bits, lowest, cutoff, narrow

    def decimal(self, x, enough):
        """The digits of x > 0 and the exponent of the first: the fewest that identify x,
        or so many more or fewer that the exponent of the last is within the limits of
        enough(exponent of the first)."""
        v = Fraction(float(x))
        e = max(math.frexp(float(x))[1] - 1, self.lowest)
        ulp = Fraction(2) ** (e - self.bits)
        low = high = ulp / 2
        if math.frexp(float(x))[0] == 0.5 and e > self.lowest:
            low = ulp / 4
        even = (v / ulp).numerator % 2 == 0
        first = 0
        while Fraction(10) ** (first + 1) <= v:
            first += 1
        while Fraction(10) ** first > v:
            first -= 1
        last, n, rest = first, 0, v
        while True:
            unit = Fraction(10) ** last
            digit = rest // unit
            rest -= digit * unit
            n = n * 10 + digit
            below = rest < low or even and rest == low
            above = rest + high > unit or even and rest + high == unit
            at_least, at_most = enough(first)
            if (below or above) and last <= at_least or last == at_most:
                break
            last -= 1
        if below == above:
            below = rest < unit / 2 or rest == unit / 2 and n % 2 == 0
        return Fraction(n + (not below)) * unit

    def positional(self, x, precision):
        if x == 0:
            return "0."
        v = self.decimal(abs(x), lambda first: (first, -precision))
        s = f"{int(v * 10 ** 200):0201d}"
        return s[:-200] + "." + s[-200:].rstrip("0")

    def scientific(self, x, at_least, precision):
        if x == 0:
            return "0." + "0" * at_least, "+00"
        v = self.decimal(abs(x), lambda first: (first - at_least, first - precision))
        e = 0
        while Fraction(10) ** (e + 1) <= v:
            e += 1
        while Fraction(10) ** e > v:
            e -= 1
        s = str(int(v / Fraction(10) ** e * 10 ** 60))
        return s[0] + "." + s[1:].rstrip("0").ljust(at_least, "0"), f"{e:+03d}"

    def texts(self, data):
        finite = [x for x in data if math.isfinite(x)]
        sizes = [abs(float(x)) for x in finite if x != 0]
        sign = lambda x: "-" if math.copysign(1, x) < 0 and not math.isnan(x) else ""
        out = ["nan" if math.isnan(x) else sign(x) + "inf" if math.isinf(x) else None for x in data]
        if sizes and (max(sizes) >= self.cutoff or min(sizes) < self.narrow(1e-4) or self.narrow(max(sizes) / min(sizes)) > 1000):
            pairs = [self.scientific(x, 0, 8) for x in finite]
            digits = max(len(m) for m, _ in pairs) - 2
            width = max(len(e) for _, e in pairs) - 1
            for i, x in enumerate(data):
                if out[i] is None:
                    m, e = self.scientific(x, digits, digits)
                    out[i] = sign(x) + m + "e" + e[0] + e[1:].zfill(width)
        else:
            strings = [self.positional(x, 8) for x in finite]
            right = max((len(s.split(".")[1]) for s in strings), default=0)
            for i, x in enumerate(data):
                if out[i] is None:
                    s = self.positional(x, 8)
                    out[i] = sign(x) + s + " " * (right - len(s.split(".")[1]))
        width = max(map(len, out))
        return [s.rjust(width) for s in out]

    def scalar(self, x):
        if math.isnan(x):
            return "nan"
        sign = "-" if math.copysign(1, x) < 0 else ""
        if math.isinf(x):
            return sign + "inf"
        if x != 0 and not 1e-4 <= abs(float(x)) < self.cutoff:
            m, e = self.scientific(x, 0, 60)
            return sign + m.rstrip(".") + "e" + e
        s = self.positional(x, 200)
        return sign + s + ("0" if s[-1] == "." else "")

    def str(self, a):
        if a.shape == ():
            return self.scalar(a[()])
        if a.size == 0:
            return "[]"
        shown = arrayprint._leading_trailing(a, 3) if a.size > 1000 else a
        with np.errstate(all="ignore"):
            texts = self.texts(shown.ravel())
        words = {}
        for x, s in zip(shown.ravel(), texts):
            words[x.tobytes()] = s
        return arrayprint._formatArray(a, lambda x: words[x.tobytes()], 75, " ", " ", 3, "..." if a.size > 1000 else "", sys.maxsize)


def brain(a):
    """The bfloat16 numbers nearest to those of a float32 array, as float32."""
    bits = np.asarray(a, np.float32).view(np.uint32).astype(np.uint64)
    near = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(a), np.float32(math.nan), near).astype(np.float32)


RULES = {
    "float16": Rules(10, -14, 1e3, lambda x: float(np.float16(np.float32(x)))),
    "float32": Rules(23, -126, 1e6, lambda x: float(np.float32(x))),
    "bfloat16": Rules(7, -126, 1e2, lambda x: float(brain(np.array([x], np.float32))[0])),
}


def numbers(r, dtype, n):
    """n numbers of a floating-point type, as float64 or, for any bits, as the type."""
    kind = r.integers(10)
    if kind == 0:  # any bits
        size = np.dtype(dtype).itemsize
        return np.frombuffer(r.bytes(n * size), dtype)
    if kind == 1:
        x = r.integers(-1000, 1000, n).astype(float)
    elif kind == 2:
        x = np.round(r.normal(size=n), r.integers(6))
    elif kind == 3:
        x = 10.0 ** r.uniform(-12, 12, n) * r.choice([-1, 1], n)
    elif kind == 4:
        x = r.choice(LIMITS, n) * r.choice([1, -1, 1 + 1e-7, 1 - 1e-7, 1 + 1e-15], n)
    elif kind == 5:
        x = r.choice(SPECIAL, n)
    elif kind == 6:
        x = 2.0 ** r.integers(-30, 30, n)
    elif kind == 7:
        x = 10.0 ** r.uniform(-1, 2.1, n) * 10.0 ** r.integers(-3, 6)
    else:
        x = r.normal(size=n) * 10.0 ** r.integers(-5, 8)
    if r.integers(4) == 0:
        x = np.where(r.integers(6, size=n) == 0, r.choice(SPECIAL, n), x)
    return np.abs(x) if r.integers(4) == 0 else x


def elements(r, name, n):
    if name == "bool":
        return r.integers(2, size=n).astype(bool) if r.integers(3) else np.full(n, r.integers(2), bool)
    dtype = np.dtype("float32" if name == "bfloat16" else name)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        high = int(min(int(info.max), 10 ** int(r.integers(1, 20))))
        return r.integers(max(int(info.min), -high) if r.integers(2) else 0, high, n, dtype=dtype, endpoint=True)
    with np.errstate(all="ignore"):
        if dtype.kind == "c":
            part = np.dtype(f"float{dtype.itemsize * 4}")
            out = np.empty(n, dtype)
            out.real, out.imag = (numbers(r, part, n).astype(part) for _ in range(2))
            return out
        x = numbers(r, dtype, n).astype(dtype)
        return brain(x) if name == "bfloat16" else x


def shape(r, small):
    kind = r.integers(12)
    if kind == 0:
        return ()
    if small:
        return [(1,), (3,), (7,), (12,), (2, 3), (3, 2), (2, 0), (2, 1, 3), (1, 2, 1, 2), (1, 1, 2, 1, 2), (1001,), (40, 30), (3, 4, 100)][r.integers(13)]
    if kind < 5:
        return (int(r.integers(0, 60)),)
    if kind == 5:
        return (int(r.integers(900, 1100)),)
    d = int(r.integers(2, 6))
    if kind < 8:
        return tuple(int(v) for v in r.integers(1, [0, 0, 40, 16, 9, 7][d], d))
    return tuple(int(v) for v in r.integers(0 if kind == 8 else 1, 5, d))


def main():
    seed, count, small = int(sys.argv[1]), int(sys.argv[2]), "small" in sys.argv
    for name in TYPES:
        r = np.random.default_rng([seed, TYPES.index(name)])
        for _ in range(count):
            dims = shape(r, small)
            size = math.prod(dims)
            pattern = elements(r, name, min(size, 11 if small else 300))
            a = np.resize(pattern, dims) if size else np.empty(dims, pattern.dtype)
            text = RULES[name].str(a) if name == "bfloat16" else str(a)
            if name in ("float16", "float32") and RULES[name].str(a) != text:
                sys.exit(f"class Rules has\n{RULES[name].str(a)}\nfor\n{text}\n{pattern.tobytes().hex()}")
            if name == "bfloat16":
                pattern = (pattern.view(np.uint32) >> 16).astype(np.uint16)
            print(json.dumps({"dtype": name, "shape": dims, "elements": pattern.tobytes().hex(), "text": text}))


main()
