"""Writes calls of NumPy's element-wise functions and their results, one JSON object a line:

    {"op": "Tan", "type": "float32", "view": "T", "shape": [2, 3], "a": bytes, "b": null,
     "result": "float32", "wantShape": [3, 2], "want": bytes}

Bytes are little-endian elements in base64. view says how the operands are read: as they are,
transposed (T), or every second row with the columns reversed (step). Arguments: a seed and the
number of calls of each function on each type.
"""

import base64
import json
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")
np.seterr(all="ignore")

FLOATS = ["float32", "float64", "float16"]
INTEGERS = ["int8", "uint8", "int32", "int64", "int16", "uint16", "uint32", "uint64"]
COMPLEX = ["complex64", "complex128"]
ONE = {
    "Tan": (np.tan, FLOATS), "Asin": (np.arcsin, FLOATS), "Acos": (np.arccos, FLOATS), "Atan": (np.arctan, FLOATS),
    "Sinh": (np.sinh, FLOATS), "Cosh": (np.cosh, FLOATS), "Asinh": (np.arcsinh, FLOATS), "Acosh": (np.arccosh, FLOATS),
    "Atanh": (np.arctanh, FLOATS), "Log2": (np.log2, FLOATS), "Log10": (np.log10, FLOATS), "Exp2": (np.exp2, FLOATS),
    "Cbrt": (np.cbrt, FLOATS), "Trunc": (np.trunc, FLOATS + INTEGERS), "Reciprocal": (np.reciprocal, FLOATS + COMPLEX),
    "SignBit": (np.signbit, FLOATS + INTEGERS), "IsNaN": (np.isnan, FLOATS + INTEGERS + COMPLEX),
    "IsInf": (np.isinf, FLOATS + INTEGERS + COMPLEX), "IsFinite": (np.isfinite, FLOATS + INTEGERS + COMPLEX),
    "Angle": (np.angle, FLOATS + COMPLEX), "Exp": (np.exp, COMPLEX), "Log": (np.log, COMPLEX), "Sin": (np.sin, COMPLEX),
    "Cos": (np.cos, COMPLEX), "Sqrt": (np.sqrt, COMPLEX), "Abs": (np.abs, COMPLEX),
}
TWO = {
    "Atan2": (np.arctan2, FLOATS), "Hypot": (np.hypot, FLOATS), "CopySign": (np.copysign, FLOATS),
    "LogAddExp": (np.logaddexp, FLOATS), "FloorDivide": (np.floor_divide, FLOATS + INTEGERS),
    "Remainder": (np.remainder, FLOATS + INTEGERS), "Pow": (np.power, COMPLEX),
}
ORDINARY = {"Reciprocal", "Pow"}  # of these, C99 and NumPy define other complex infinities
SHAPES = [(), (0,), (1,), (7,), (4, 3), (2, 3, 4), (40,)]
VIEWS = {"": lambda x: x, "T": lambda x: x.T, "step": lambda x: x[::2, ::-1]}


def operand(rng, op, kind, shape):
    """Random elements, with special ones among them."""
    t = np.dtype(kind)
    if t.kind in "iu":
        low, high = np.iinfo(t).min, np.iinfo(t).max
        x = rng.integers(low, high, shape, t, endpoint=True)
        small = rng.integers(0 if low == 0 else -9, 10, shape).astype(t)
        special = rng.choice(np.array([low, high, 0, 1, low + 1, high if low == 0 else -1], dtype=t), shape)
        pick = rng.integers(0, 3, shape)
        return np.asarray(np.where(pick == 0, x, np.where(pick == 1, small, special)), dtype=t)
    if t.kind == "c":
        x = np.asarray(rng.standard_normal(shape) + 1j * rng.standard_normal(shape))
        if op not in ORDINARY:
            special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 800.0, 1e300, 1e-320]
            x.real = np.where(rng.random(shape) < 0.2, rng.choice(special, shape), x.real)
            x.imag = np.where(rng.random(shape) < 0.2, rng.choice(special, shape), x.imag)
        return np.asarray(x, dtype=t)
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-8, 8, shape)
    special = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, 1000, 1e-7, float(np.finfo(t).max), -float(np.finfo(t).max),
                          float(np.finfo(t).smallest_subnormal)], shape)
    return np.asarray(np.where(rng.random(shape) < 0.3, special, x), dtype=t)


def encoded(x):
    return base64.b64encode(np.ascontiguousarray(x).tobytes()).decode()


rng = np.random.default_rng(int(sys.argv[1]))
for number in range(int(sys.argv[2])):
    for op, (f, kinds) in (ONE | TWO).items():
        for kind in kinds:
            shape = SHAPES[number % len(SHAPES)]
            view = rng.choice(["", "T", "step"]) if len(shape) > 1 else ""
            a, b = operand(rng, op, kind, shape), operand(rng, op, kind, shape)
            args = [VIEWS[view](a), VIEWS[view](b)]
            want = np.asarray(f(*args[: 2 if op in TWO else 1]))
            print(json.dumps({"op": op, "type": kind, "view": view, "shape": shape, "a": encoded(a), "b": encoded(b) if op in TWO else None,
                              "result": str(want.dtype), "wantShape": want.shape, "want": encoded(want)}))
