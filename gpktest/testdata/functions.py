"""Writes arguments and exact results of the functions in cutlass/src/functions_gen.cuh that
have a rounding error, from mpmath, with a seed for each function:

    python3 functions.py ../../cutlass/src/functions_gen.cuh >functions.txt

A line has the function's name, its arguments as hexadecimal float64, the result rounded to
float64, and the rounding error to six digits. OTHER defines some functions. Every other one is
the function of mpmath with the same name in lower case. Arguments outside a function's domain
are left out.
"""

import random
import re
import struct
import sys

from mpmath import mp, mpf

mp.prec = 300
ARGUMENTS = 100
EXACT = {"Trunc", "Reciprocal", "SignBit", "IsNaN", "IsInf", "IsFinite", "Angle", "CopySign"}
OTHER = {
    "Log2": lambda x: mp.log(x) / mp.log(2),
    "Exp2": lambda x: mpf(2) ** x,
    "Cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "Lgamma": lambda x: mp.re(mp.loggamma(x)),
    "LogAddExp": lambda x, y: max(x, y) + mp.log1p(mp.exp(-abs(x - y))),
    "FloorDivide": lambda x, y: mp.floor(x / y),
    "Remainder": lambda x, y: x - y * mp.floor(x / y),
}
WIDE = {"LogAddExp", "FloorDivide", "Remainder"}  # 300 bits do not hold their terms at all magnitudes


def argument(rng, wide):
    """A float64, float32 or float16: of any magnitude, ordinary, or near 1."""
    kind = rng.randrange(5)
    if kind == 0 and not wide:
        x = rng.choice([-1, 1]) * rng.uniform(1, 2) * 2.0 ** rng.randrange(-60, 60)
    elif kind == 1:
        x = rng.choice([-1, 1]) * (1 + rng.uniform(-1, 1) * 2.0 ** rng.randrange(-20, 0))
    elif kind == 2:
        x = rng.uniform(-1, 1)
    else:
        x = rng.choice([-1, 1]) * rng.uniform(1, 2) * 2.0 ** rng.randrange(-5, 8)
    code = rng.choice("dddffe")
    try:
        return struct.unpack(code, struct.pack(code, x))[0]
    except OverflowError:
        return x


def result(f, args):
    """f at the arguments, None where it is no finite real number or too small."""
    try:
        v = f(*(mpf(a) for a in args))
    except (ValueError, ZeroDivisionError, OverflowError, mp.NoConvergence):
        return None
    if isinstance(v, mp.mpc):
        if v.imag != 0:
            return None
        v = v.real
    if mp.isnan(v) or mp.isinf(v) or abs(v) > mpf(2) ** 1000 or 0 < abs(v) < mpf(2) ** -960:
        return None
    return v


lines = re.findall(r"F\((\d+), (\w+),", open(sys.argv[1]).read())
for number, name in lines:
    if name in EXACT:
        continue
    rng = random.Random(name)
    f = OTHER.get(name) or getattr(mp, name.lower())
    operands = 1 if int(number) < 100 else 2
    n = 0
    while n < ARGUMENTS:
        args = [argument(rng, name in WIDE) for _ in range(operands)]
        if 0 in args:  # mpmath has no -0
            continue
        v = result(f, args)
        if v is None:
            continue
        high = float(v)
        low = float(v - mpf(high))
        print(name, *(a.hex() for a in args), high.hex(), f"{low:.5e}")
        n += 1
