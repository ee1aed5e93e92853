"""Writes calls of the functions of the array API standard by NumPy, and their results, one JSON object a line:

    {"name": "sum", "type": "int8", "in": [array, ...], "p": {"Axes": [0], "Keep": true}, "want": [array, ...]}

An array has a type, a shape and base64 of its little-endian elements; an operand also a view, which says
how the elements are read: transposed (T), every second of the last axis (step), all axes reversed (flip), the
first axis stretched from length 1 (stretch). A result may be off by ulp units of the last place, relative to
itself, and by tol; zero says whether the signs of zeros count. Arguments: a seed, the number of
calls of each function on each type, and names of functions (none: all).
"""

import base64
import json
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")
np.seterr(all="ignore")

FLOATS = ["float32", "float64", "float16"]
WIDE = ["float32", "float64"]
INTEGERS = ["int8", "uint8", "int32", "int64"]
COMPLEX = ["complex64", "complex128"]
BOOL = ["bool"]
REALS = FLOATS + INTEGERS
NUMBERS = REALS + COMPLEX
ALL = NUMBERS + BOOL
LINEAR = WIDE + COMPLEX
SHAPES = [(), (0,), (1,), (7,), (4, 3), (2, 3, 4), (3, 0, 2), (40,), (1, 5), (2, 1, 3, 2)]
CALLS = {}


def call(name, kinds):
    """Registers a function that makes one call: it returns the operands, the parameters and the results."""
    def register(f):
        CALLS[name] = f, kinds
        return f
    return register


class Draw:
    """The random choices of one call."""

    def __init__(self, rng, kind, number):
        self.rng, self.kind, self.number = rng, kind, number

    def below(self, n):
        return int(self.rng.integers(n))

    def shape(self, least=0, most=9, empty=True):
        fits = [s for s in SHAPES if least <= len(s) <= most and (empty or 0 not in s)]
        return fits[self.below(len(fits))]

    def values(self, shape, kind=None, special=True):
        t = np.dtype(kind or self.kind)
        rng = self.rng
        if t.kind == "b":
            return rng.random(shape) < 0.5
        if t.kind in "iu":
            low, high = np.iinfo(t).min, np.iinfo(t).max
            wide = rng.integers(low, high, shape, t, endpoint=True)
            small = rng.integers(0 if low == 0 else -9, 10, shape).astype(t)
            if not special:
                return np.asarray(small)
            edge = rng.choice(np.array([low, high, 0, 1, low + 1, high - 1], dtype=t), shape)
            pick = rng.integers(0, 3, shape)
            return np.asarray(np.where(pick == 0, wide, np.where(pick == 1, small, edge)), dtype=t)
        if t.kind == "c":
            part = np.dtype("float32" if t == np.complex64 else "float64")
            out = np.empty(shape, t)
            out.real, out.imag = self.values(shape, part, special), self.values(shape, part, special)
            return out
        x = rng.standard_normal(shape)
        if special:
            info = np.finfo(t)
            x = x * 2.0 ** rng.integers(-8, 8, shape)
            edge = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, 0.5, -2.5, 1000, 1e-7, float(info.max), -float(info.max),
                               float(info.smallest_subnormal), -float(info.smallest_normal)], shape)
            x = np.where(rng.random(shape) < 0.3, edge, x)
        return np.asarray(x, dtype=t)

    def array(self, shape=None, kind=None, special=True, values=None):
        """An operand: its elements as they lie, the view, and what NumPy reads."""
        if values is not None:
            values = np.asarray(values)
            shape = values.shape
        shape = self.shape() if shape is None else tuple(shape)
        views = [""] + (["flip", "step"] if len(shape) else []) + (["T"] if len(shape) > 1 else []) + (["stretch"] if len(shape) and shape[0] > 1 and values is None else [])
        view = views[self.below(len(views))]
        if values is None:
            lying = {"T": shape[::-1], "stretch": (1,) + shape[1:]}.get(view, shape)
            values = self.values(lying, kind, special)
            x = {"T": np.transpose, "flip": np.flip, "stretch": lambda v: np.broadcast_to(v, shape)}.get(view, lambda v: v)(values)
        else:
            x = values
            values = {"T": np.transpose, "flip": np.flip}.get(view, lambda v: v)(x)
        if view == "step":
            values = np.repeat(values, 2, -1)
            values[..., 1::2] = values[..., 1::2][..., ::-1]
        return Operand(np.ascontiguousarray(values).reshape(values.shape), view, np.asarray(x))

    def second(self, shape):
        """A shape that broadcasts with another."""
        kind = self.below(4)
        if kind == 0 or not shape:
            return shape
        if kind == 1:
            return shape[self.below(len(shape) + 1):]
        return tuple(1 if self.rng.random() < 0.5 else n for n in shape)

    def axis(self, shape):
        return int(self.rng.integers(-len(shape), len(shape)))

    def some(self, shape):
        """Axes of a reduction, as NumPy and as gpk take them."""
        keep = bool(self.below(2))
        if not shape or self.below(3) == 0:
            return None, keep, {"Keep": keep}
        axes = self.rng.permutation(len(shape))[: 1 + self.below(len(shape))]
        axes = [int(a) - (len(shape) if self.below(2) else 0) for a in axes]
        return tuple(axes), keep, {"Axes": axes, "Keep": keep}


class Operand:
    def __init__(self, lying, view, x):
        self.lying, self.view, self.x = lying, view, x


class Want:
    def __init__(self, x, ulp=0, tol=0.0, zero=False):
        self.x, self.ulp, self.tol, self.zero = np.asarray(x), ulp, float(tol), zero


def eps(x):
    return float(np.finfo(np.asarray(x).dtype).eps)


def same(x):
    return Want(x, zero=True)


def unary(name, f, kinds, ulp=0, special=True, zero=True):
    @call(name, kinds)
    def _(d):
        a = d.array(special=special)
        exact = np.dtype(d.kind).kind in "iub"
        return [a], {}, [Want(f(a.x), 0 if exact else ulp, 0, zero)]


def binary(name, f, kinds, ulp=0, special=True, zero=True, second=None):
    @call(name, kinds)
    def _(d):
        shape = d.shape()
        a, b = d.array(shape, special=special), d.array(d.second(shape), special=special)
        if second:
            b = d.array(values=np.asarray(second(b.x)))
        if d.below(2) and not second:
            a, b = b, a
        exact = np.dtype(d.kind).kind in "iub"
        return [a, b], {}, [Want(f(a.x, b.x), 0 if exact else ulp, 0, zero)]


def elementwise():
    for name in "acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 sin sinh tan tanh".split():
        unary(name, getattr(np, name), FLOATS, 6)
    for name in "ceil floor trunc round".split():
        unary(name, getattr(np, name), REALS)
    unary("abs", np.abs, REALS + COMPLEX, 4)
    unary("bitwise_invert", np.bitwise_invert, INTEGERS + BOOL)
    unary("conj", np.conj, NUMBERS)
    unary("imag", np.imag, NUMBERS, zero=False)
    unary("real", np.real, NUMBERS)
    for name in "isfinite isinf isnan".split():
        unary(name, getattr(np, name), NUMBERS)
    unary("logical_not", np.logical_not, BOOL)
    unary("negative", np.negative, NUMBERS)
    unary("positive", np.positive, NUMBERS)
    unary("sign", np.sign, REALS, zero=False)
    unary("signbit", np.signbit, REALS)
    unary("square", np.square, REALS)
    unary("sqrt", np.sqrt, FLOATS)
    unary("reciprocal", np.reciprocal, FLOATS)
    for name in "add subtract multiply".split():
        binary(name, getattr(np, name), REALS)
    for name in "atan2 hypot".split():
        binary(name, getattr(np, name), FLOATS, 6)
    for name in "bitwise_and bitwise_or bitwise_xor".split():
        binary(name, getattr(np, name), INTEGERS + BOOL)
    for name, f in [("bitwise_left_shift", np.left_shift), ("bitwise_right_shift", np.right_shift)]:
        binary(name, f, INTEGERS, second=lambda x: np.abs(x.astype(np.int64) % 70).astype(x.dtype))
    binary("copysign", np.copysign, FLOATS)
    binary("divide", np.divide, FLOATS)
    for name in "equal not_equal".split():
        binary(name, getattr(np, name), ALL)
    for name in "greater greater_equal less less_equal".split():
        binary(name, getattr(np, name), REALS + BOOL)
    binary("remainder", np.remainder, REALS, 1)

    def floor_divide(x, y):  # in float32 NumPy's quotients above 2^22 are off by one
        return np.floor_divide(x.astype(float), y.astype(float)).astype(x.dtype) if x.dtype.kind == "f" else np.floor_divide(x, y)

    binary("floor_divide", floor_divide, REALS, 1)
    for name in "logical_and logical_or logical_xor".split():
        binary(name, getattr(np, name), BOOL)
    for name in "maximum minimum".split():
        binary(name, getattr(np, name), REALS + BOOL, zero=False)
    # Of equal numbers the second, as the standard and C have it: NumPy gives the first one of float16.
    binary("nextafter", lambda x, y: np.where(x == y, y, np.nextafter(x, y)), FLOATS)

    @call("logaddexp", FLOATS)
    def _(d):
        shape = d.shape()
        a, b = d.array(shape), d.array(d.second(shape))
        want = np.logaddexp(a.x, b.x)  # near its roots the error is one of the operands
        finite = [np.abs(v[np.isfinite(v)]).max(initial=1) for v in (a.x, b.x)]
        return [a, b], {}, [Want(want, 6, min(8.0, 6 * eps(want) * float(min(finite))))]

    @call("clip", REALS)
    def _(d):
        shape = d.shape()
        a, b, c = d.array(shape), d.array(d.second(shape)), d.array(d.second(shape))
        return [a, b, c], {}, [Want(np.clip(a.x, b.x, c.x))]

    @call("pow", REALS)
    def _(d):
        shape = d.shape()
        a, b = d.array(shape), d.array(d.second(shape))
        if np.dtype(d.kind).kind == "i":
            b = d.array(values=np.abs(b.x.astype(np.int64) % 70).astype(d.kind))
        want = np.pow(a.x, b.x)
        if np.dtype(d.kind).kind == "f":  # infinite as in C; NumPy takes the square root where the exponent is one number
            want = np.where((a.x == -np.inf) & (b.x == 0.5), np.asarray(np.inf, d.kind), want)
        return [a, b], {}, [Want(want, 0 if np.dtype(d.kind).kind in "iu" else 6, 0, True)]


def complex_numbers():
    """The functions of ordinary complex numbers, whose infinities and NaN the standard and C99 leave open in part."""
    for name in "exp log sin cos sqrt square reciprocal".split():
        @call(name + " of complex", COMPLEX)
        def _(d, f=getattr(np, name)):
            a = d.array(special=False)
            return [a], {}, [Want(f(a.x), 16, 4 * np.finfo(d.kind).eps)]
    for name in "add subtract multiply divide pow".split():
        @call(name + " of complex", COMPLEX)
        def _(d, f=getattr(np, name)):
            shape = d.shape()
            a, b = d.array(shape, special=False), d.array(d.second(shape), special=False)
            return [a, b], {}, [Want(f(a.x, b.x), 64)]


def creation():
    @call("arange", REALS)
    def _(d):
        start, step = int(d.rng.integers(0, 9)), int(d.rng.integers(1, 5))
        stop = start + int(d.rng.integers(-3, 90))
        if np.dtype(d.kind).kind == "f":
            start, stop, step = start / 4, stop / 4, step / 8
        return [], {"Dt": d.kind, "Start": start, "Stop": stop, "Step": step}, [same(np.arange(start, stop, step).astype(d.kind))]

    @call("asarray", ["float64"])
    def _(d):
        x = d.values(d.shape(1))
        return [], {"Data": [float(v) for v in np.nan_to_num(x).ravel()], "Shape": x.shape}, [same(np.asarray(np.nan_to_num(x).tolist(), float).reshape(x.shape))]

    for name in ["empty", "zeros", "ones"]:
        @call(name, ALL)
        def _(d, f=np.ones if name == "ones" else np.zeros):
            shape = d.shape()
            return [], {"Dt": d.kind, "Shape": shape}, [same(f(shape, d.kind))]

        @call(name + "_like", ALL)
        def _(d, f=np.ones_like if name == "ones" else np.zeros_like):
            a = d.array()
            return [a], {}, [same(f(a.x))]

    @call("eye", ALL)
    def _(d):
        n, m, k = d.below(7), d.below(7), int(d.rng.integers(-3, 4))
        i, j = max(k, 0), max(-k, 0)
        return [], {"Dt": d.kind, "N": n, "M": m, "I": i, "J": j, "L": max(n + i, m + j)}, [same(np.eye(n, m, k, d.kind))]

    @call("from_dlpack", ALL)
    def _(d):
        a = d.array()
        return [a], {}, [same(np.from_dlpack(np.ascontiguousarray(a.x).reshape(a.x.shape)))]

    @call("full", REALS)
    def _(d):
        shape, v = d.shape(), d.below(100)
        return [], {"Dt": d.kind, "Shape": shape, "Value": v}, [same(np.full(shape, v, d.kind))]

    @call("full_like", REALS)
    def _(d):
        a, v = d.array(), d.below(100)
        return [a], {"Value": v}, [same(np.full_like(a.x, v))]

    @call("linspace", FLOATS)
    def _(d):
        lo, hi, n = float(d.rng.standard_normal()), float(d.rng.standard_normal()), d.below(40)
        return [], {"Dt": d.kind, "Start": lo, "Stop": hi, "N": n}, [Want(np.linspace(lo, hi, n, dtype=d.kind), 1, 4e-16)]

    for name, how in [("meshgrid", "xy"), ("meshgrid of ij", "ij")]:
        @call(name, ALL)
        def _(d, how=how):
            a, b = d.array((d.below(5),)), d.array((d.below(5),))
            return [a, b], {}, [same(x) for x in np.meshgrid(a.x, b.x, indexing=how)]

    for name in ["tril", "triu"]:
        @call(name, ALL)
        def _(d, f=getattr(np, name)):
            a, k = d.array(d.shape(2)), int(d.rng.integers(-3, 4))
            return [a], {"K": k}, [same(f(a.x, k=k))]


def types():
    @call("astype", ALL)
    def _(d):
        to = ALL[d.below(len(ALL))]
        a = d.array(special=False, kind=d.kind)
        if np.dtype(to).kind == "u":
            a = d.array(values=np.abs(a.x).astype(d.kind))
        if np.dtype(d.kind).kind == "c" and np.dtype(to).kind not in "cb":
            to = d.kind
        return [a], {"Dt": to}, [same(a.x.astype(to))]

    @call("isdtype", ALL)
    def _(d):
        kinds = ["integral", "real floating", "complex floating"]
        return [], {"Dt": d.kind}, [same([bool(np.isdtype(np.dtype(d.kind), k)) for k in kinds])]

    @call("dtypes", BOOL)
    def _(d):
        return [], {"Names": list(np.__array_namespace_info__().dtypes())}, [same(True)]

    @call("devices", BOOL)
    def _(d):
        return [], {"Names": list(np.__array_namespace_info__().devices())}, [same(True)]

    @call("default_device", BOOL)
    def _(d):
        return [], {"Names": [np.__array_namespace_info__().default_device()]}, [same(True)]


def indexing():
    @call("take", ALL)
    def _(d):
        shape = d.shape(1, empty=False)
        axis = d.axis(shape)
        a = d.array(shape)
        at = d.array(values=d.rng.integers(-shape[axis], shape[axis], d.below(9)).astype(["int32", "int64"][d.below(2)]))
        return [a, at], {"Axis": axis}, [same(np.take(a.x, at.x, axis))]

    @call("take_along_axis", ALL)
    def _(d):
        shape = d.shape(1, empty=False)
        axis = d.axis(shape)
        a = d.array(shape)
        to = list(shape)
        to[axis] = d.below(6)
        at = d.array(values=d.rng.integers(-shape[axis], shape[axis], to))
        return [a, at], {"Axis": axis}, [same(np.take_along_axis(a.x, at.x, axis))]

    @call("where", ALL)
    def _(d):
        shape = d.shape()
        c, a, b = d.array(d.second(shape), "bool"), d.array(shape), d.array(d.second(shape))
        return [c, a, b], {}, [same(np.where(c.x, a.x, b.x))]

    for name in ["argmax", "argmin"]:
        @call(name, REALS + BOOL)
        def _(d, f=getattr(np, name)):
            a = d.array(d.shape(1, empty=False))
            axis, keep = (None if d.below(3) == 0 else d.axis(a.x.shape)), bool(d.below(2))
            return [a], {"Axes": None if axis is None else [axis], "Keep": keep}, [same(f(a.x, axis=axis, keepdims=keep))]

    @call("count_nonzero", ALL)
    def _(d):
        a = d.array()
        axes, keep, p = d.some(a.x.shape)
        return [a], p, [same(np.asarray(np.count_nonzero(a.x, axis=axes, keepdims=keep), np.int64))]

    @call("nonzero", ALL)
    def _(d):
        a = d.array(d.shape(1))
        return [a], {}, [same(x) for x in np.nonzero(a.x)]

    for side in ["left", "right"]:
        @call("searchsorted" + (" of right" if side == "right" else ""), REALS)
        def _(d, side=side):
            a, b = d.array(values=np.sort(d.values(d.shape(1, 1)))), d.array()
            return [a, b], {}, [same(np.searchsorted(a.x, b.x, side))]

    def few(d):  # no NaN: the standard counts each alone, gpk and np.unique all as one
        kind = np.dtype(d.kind).kind
        x = d.values(d.shape()) if kind in "iub" else np.round(d.values(d.shape(), special=False)) + 0
        return d.array(values=np.asarray(x, d.kind))

    @call("unique_all", REALS + BOOL)
    def _(d):
        a = few(d)
        return [a], {}, [Want(x) for x in np.unique_all(a.x)]

    @call("unique_counts", REALS + BOOL)
    def _(d):
        a = few(d)
        return [a], {}, [Want(x) for x in np.unique_counts(a.x)]

    @call("unique_inverse", REALS + BOOL)
    def _(d):
        a = few(d)
        return [a], {}, [Want(x) for x in np.unique_inverse(a.x)]

    @call("unique_values", REALS + BOOL)
    def _(d):
        a = d.array()
        return [a], {}, [Want(np.unique(a.x))]

    @call("sort", REALS + BOOL)
    def _(d):
        a, down = d.array(d.shape(1)), bool(d.below(2))
        axis = d.axis(a.x.shape)
        x = np.sort(a.x, axis=axis)
        return [a], {"Axis": axis, "Flag": down}, [Want(np.flip(x, axis) if down else x)]

    @call("argsort", REALS + BOOL)
    def _(d):
        # gpk's order is total, with -0 below 0: no -0 here
        a, down = d.array(values=d.values(d.shape(1)) + np.zeros((), d.kind) if d.kind != "bool" else d.values(d.shape(1))), bool(d.below(2))
        axis = d.axis(a.x.shape)
        n = a.x.shape[axis]
        at = np.argsort(np.flip(a.x, axis), axis=axis, stable=True) if down else np.argsort(a.x, axis=axis, stable=True)
        return [a], {"Axis": axis, "Flag": down}, [same(np.flip(n - 1 - at, axis) if down else at)]


def manipulation():
    @call("broadcast_arrays", ALL)
    def _(d):
        shape = d.shape()
        a, b = d.array(shape), d.array(d.second(shape))
        return [a, b], {}, [same(x) for x in np.broadcast_arrays(a.x, b.x)]

    @call("broadcast_to", ALL)
    def _(d):
        shape = d.shape()
        a = d.array(d.second(shape))
        return [a], {"Shape": shape}, [same(np.broadcast_to(a.x, shape))]

    @call("concat", ALL)
    def _(d):
        shape = d.shape(1)
        axis = d.axis(shape)
        other = list(shape)
        other[axis] = d.below(5)
        a, b = d.array(shape), d.array(other)
        return [a, b], {"Axis": axis}, [same(np.concat([a.x, b.x], axis=axis))]

    @call("expand_dims", ALL)
    def _(d):
        a = d.array()
        axis = int(d.rng.integers(-a.x.ndim - 1, a.x.ndim + 1))
        return [a], {"Axis": axis}, [same(np.expand_dims(a.x, axis))]

    @call("flip", ALL)
    def _(d):
        a = d.array(d.shape(1))
        axes, _, p = d.some(a.x.shape)
        return [a], {"Axes": p.get("Axes")}, [same(np.flip(a.x, axes))]

    @call("moveaxis", ALL)
    def _(d):
        a = d.array(d.shape(1))
        i, j = d.axis(a.x.shape), d.axis(a.x.shape)
        return [a], {"I": i, "J": j}, [same(np.moveaxis(a.x, i, j))]

    @call("permute_dims", ALL)
    def _(d):
        a = d.array(d.shape(1))
        axes = [int(v) for v in d.rng.permutation(a.x.ndim)]
        return [a], {"Axes": axes}, [same(np.permute_dims(a.x, axes))]

    @call("repeat", ALL)
    def _(d):
        a, n = d.array(d.shape(1)), d.below(4)
        axis = d.axis(a.x.shape)
        return [a], {"Axis": axis, "N": n}, [same(np.repeat(a.x, n, axis))]

    @call("reshape", ALL)
    def _(d):
        a = d.array()
        shape = [[-1], list(a.x.shape[::-1]), [1] + list(a.x.shape)][d.below(3)]
        if a.x.size == 0 or not shape:
            shape = list(a.x.shape[::-1])
        return [a], {"Shape": shape}, [same(np.reshape(a.x, shape))]

    @call("roll", ALL)
    def _(d):
        a, k = d.array(), int(d.rng.integers(-9, 10))
        axes = [] if not a.x.ndim or d.below(3) == 0 else [d.axis(a.x.shape)]
        return [a], {"K": k, "Axes": axes}, [same(np.roll(a.x, k, axes[0] if axes else None))]

    @call("squeeze", ALL)
    def _(d):
        a = d.array((1,) + d.shape(0, 3))
        axes = [i for i, n in enumerate(a.x.shape) if n == 1][: 1 + d.below(3)]
        return [a], {"Axes": axes}, [same(np.squeeze(a.x, tuple(axes)))]

    @call("stack", ALL)
    def _(d):
        shape = d.shape()
        a, b = d.array(shape), d.array(shape)
        axis = int(d.rng.integers(-len(shape) - 1, len(shape) + 1))
        return [a, b], {"Axis": axis}, [same(np.stack([a.x, b.x], axis=axis))]

    @call("tile", ALL)
    def _(d):
        a, reps = d.array(), [d.below(4) for _ in range(1 + d.below(3))]
        return [a], {"Shape": reps}, [same(np.tile(a.x, reps))]

    @call("unstack", ALL)
    def _(d):
        a = d.array(d.shape(1))
        axis = d.axis(a.x.shape)
        return [a], {"Axis": axis}, [same(x) for x in np.unstack(a.x, axis=axis)]


def statistics():
    def off(x, axes, n=1):
        """What sums in another order may differ by."""
        if np.dtype(x.dtype).kind in "iub":
            return 0
        width = eps(x) if x.dtype != np.float16 else 2.0 ** -10
        return float(4 * n * width * np.sum(np.abs(x.astype(complex if x.dtype.kind == "c" else float))))

    for name in ["sum", "prod"]:
        @call(name, ALL)
        def _(d, name=name):
            a = d.array(special=np.dtype(d.kind).kind in "iub")
            axes, keep, p = d.some(a.x.shape)
            exact = np.dtype(d.kind).kind in "iub"
            f = getattr(np, name)
            want = f(a.x, axis=axes, keepdims=keep, dtype=np.int64 if exact else d.kind)
            if name == "prod" and not exact:  # gpk multiplies in twice the width
                want = f(a.x.astype(np.complex128 if np.dtype(d.kind).kind == "c" else float), axis=axes, keepdims=keep).astype(d.kind)
                return [a], p, [Want(want, 64, 1e-300)]
            return [a], p, [Want(want, 0, off(a.x, axes))]

    @call("mean", FLOATS + COMPLEX)
    def _(d):
        a = d.array(special=False)
        axes, keep, p = d.some(a.x.shape)
        return [a], p, [Want(np.mean(a.x, axis=axes, keepdims=keep), 2, off(a.x, axes))]

    for name in ["var", "std"]:
        @call(name, FLOATS)
        def _(d, f=getattr(np, name)):
            a = d.array(d.shape(empty=False), special=False)
            axes, keep, p = d.some(a.x.shape)
            n = a.x.size if axes is None else int(np.prod([a.x.shape[i] for i in axes]))
            ddof = d.below(min(n, 3))
            want = f(a.x.astype(float), axis=axes, keepdims=keep, ddof=ddof).astype(d.kind)
            error = 8 * eps(a.x) * float(np.abs(a.x).max())  # of each difference to the mean
            return [a], p | {"K": ddof}, [Want(want, 8, error if f is np.std else error * error)]

    for name in ["max", "min"]:
        @call(name, REALS + BOOL)
        def _(d, f=getattr(np, name)):
            a = d.array(d.shape(empty=False))
            axes, keep, p = d.some(a.x.shape)
            return [a], p, [Want(f(a.x, axis=axes, keepdims=keep))]

    for name in ["all", "any"]:
        @call(name, ALL)
        def _(d, f=getattr(np, name)):
            a = d.array()
            axes, keep, p = d.some(a.x.shape)
            return [a], p, [same(f(a.x, axis=axes, keepdims=keep))]

    for name in ["cumulative_sum", "cumulative_prod"]:
        @call(name, ALL)
        def _(d, f=getattr(np, name)):
            a = d.array(d.shape(1), special=np.dtype(d.kind).kind in "iub")
            axis = d.axis(a.x.shape)
            if np.dtype(d.kind).kind in "iub":
                return [a], {"Axis": axis}, [same(f(a.x, axis=axis, dtype=np.int64))]
            wide = f(a.x.astype(np.complex128 if np.dtype(d.kind).kind == "c" else float), axis=axis).astype(d.kind)
            return [a], {"Axis": axis}, [Want(wide, 64, off(a.x, axis) if f is np.cumulative_sum else 1e-300)]

    @call("diff", NUMBERS)
    def _(d):
        a, n = d.array(d.shape(1), special=np.dtype(d.kind).kind != "c"), d.below(4)
        axis = d.axis(a.x.shape)
        return [a], {"Axis": axis, "N": n}, [same(np.diff(a.x, n, axis))]


def products():
    def pairs(d, a, b, f):
        """A product of NumPy, and what sums in another order may differ by."""
        kind = np.dtype(d.kind)
        if kind.kind in "iu":
            to = np.int32 if kind.itemsize == 1 else kind
            return Want(f(a.astype(to), b.astype(to)))
        return Want(f(a, b), 2, 8 * eps(a) * float(np.sum(np.abs(a))) * float(np.abs(b).max(initial=1)))

    kinds = WIDE + INTEGERS + COMPLEX

    @call("matmul", kinds)
    def _(d):
        n, k, m = (d.below(9) for _ in range(3))
        lead = d.shape(0, 2)
        a, b = d.array(d.second(lead) + (n, k), special=False), d.array(lead + (k, m), special=False)
        return [a, b], {}, [pairs(d, a.x, b.x, np.matmul)]

    @call("matrix_transpose", ALL)
    def _(d):
        a = d.array(d.shape(2))
        return [a], {}, [same(np.matrix_transpose(a.x))]

    @call("tensordot", kinds)
    def _(d):
        n, k, m, l = (1 + d.below(5) for _ in range(4))
        a, b = d.array((n, k, l), special=False), d.array((l, m, k), special=False)
        axes = ([1, 2], [2, 0])
        return [a, b], {"Axes": axes[0], "Other": axes[1]}, [pairs(d, a.x, b.x, lambda x, y: np.tensordot(x, y, axes))]

    @call("vecdot", kinds)
    def _(d):
        shape = d.shape(1, empty=False)
        axis = -1
        other = d.second(shape[:-1]) + (shape[-1],)
        a, b = d.array(shape, special=False), d.array(other, special=False)
        return [a, b], {"Axis": axis}, [pairs(d, a.x, b.x, lambda x, y: np.vecdot(x, y, axis=axis))]

    @call("linalg.outer", NUMBERS)
    def _(d):
        a, b = d.array((d.below(7),), special=False), d.array((d.below(7),), special=False)
        return [a, b], {}, [Want(np.linalg.outer(a.x, b.x), 2)]

    @call("linalg.cross", NUMBERS)
    def _(d):
        lead = d.shape(0, 2)
        a, b = d.array(lead + (3,), special=False), d.array(d.second(lead) + (3,), special=False)
        tol = 0 if np.dtype(d.kind).kind != "c" else 8 * eps(a.x) * 32  # complex products may be fused in NumPy
        return [a, b], {"Axis": -1}, [Want(np.linalg.cross(a.x, b.x), 0, tol)]

    @call("linalg.diagonal", ALL)
    def _(d):
        a = d.array(d.shape(2, empty=False))
        k = int(d.rng.integers(-a.x.shape[-2], a.x.shape[-1] + 1))
        return [a], {"K": k}, [same(np.linalg.diagonal(a.x, offset=k))]

    @call("linalg.trace", REALS)
    def _(d):
        a = d.array(d.shape(2, empty=False), special=False)
        k = int(d.rng.integers(-a.x.shape[-2], a.x.shape[-1] + 1))
        exact = np.dtype(d.kind).kind in "iu"
        return [a], {"K": k}, [Want(np.linalg.trace(a.x, offset=k, dtype=np.int64 if exact else d.kind), 0, 0 if exact else 64 * eps(a.x))]

    @call("linalg.vector_norm", WIDE + COMPLEX)
    def _(d):
        a = d.array(d.shape(1, empty=False), special=False)
        axes, keep, p = d.some(a.x.shape)
        order = [0, 1, 2, 3, 0.5, np.inf, -np.inf][d.below(7)]
        q = {np.inf: "inf", -np.inf: "-inf"}.get(order, order)
        return [a], p | {"Q": q}, [Want(np.linalg.vector_norm(a.x, axis=axes, keepdims=keep, ord=order), 256)]


def linalg():
    def matrix(d, rows=None, cols=None):
        lead = d.shape(0, 2, empty=False)
        n = 1 + d.below(6)
        return d.values(lead + (rows or n, cols or n), special=False)

    def good(d):
        x = matrix(d)
        return x + 4 * np.eye(x.shape[-1], dtype=d.kind)

    def hermitian(d):
        x = matrix(d)
        return (x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(x.shape[-1])).astype(d.kind)

    def off(x, c=1000):
        return c * eps(x) * float(np.abs(x).max(initial=1)) * float(np.linalg.cond(x).max(initial=1))

    def one(name, make, f, of=None, c=1000):
        @call(name, LINEAR)
        def _(d):
            a = d.array(values=make(d))
            want = f(a.x)
            return [a], {}, [Want(w, 1000, off(a.x, c)) for w in (want if isinstance(want, tuple) else (want,))]

    one("linalg.cholesky", hermitian, np.linalg.cholesky)
    one("linalg.cholesky of upper", hermitian, lambda x: np.linalg.cholesky(x, upper=True))
    one("linalg.det", good, np.linalg.det, c=1e4)
    one("linalg.eigvalsh", hermitian, np.linalg.eigvalsh)
    one("linalg.inv", good, np.linalg.inv)
    one("linalg.svdvals", matrix, np.linalg.svdvals)
    one("linalg.slogdet", good, lambda x: tuple(np.linalg.slogdet(x)))
    # Of factors whose signs are free, their product, and what is unique.
    one("linalg.eigh", hermitian, lambda x: (np.linalg.eigh(x)[0], x))
    one("linalg.svd", matrix, lambda x: (np.linalg.svd(x)[1], x))
    one("linalg.qr", matrix, lambda x: (np.abs(np.linalg.qr(x)[1]), x))

    @call("linalg.pinv", LINEAR)
    def _(d):
        a = d.array(values=matrix(d, 2 + d.below(3), 6 + d.below(3)))
        return [a], {"Q": 1e-3}, [Want(np.linalg.pinv(a.x, rcond=1e-3), 1000, off(a.x))]

    @call("linalg.matrix_rank", LINEAR)
    def _(d):
        x = matrix(d, 4, 5)
        x[..., 0, :] = x[..., 1, :]
        a = d.array(values=x)
        return [a], {"Q": 1e-3}, [same(np.asarray(np.linalg.matrix_rank(a.x, tol=None, rtol=1e-3), np.int64))]

    @call("linalg.solve", LINEAR)
    def _(d):
        x = good(d)
        a, b = d.array(values=x), d.array((x.shape[-1], 1 + d.below(3)), special=False)
        return [a, b], {}, [Want(np.linalg.solve(a.x, b.x), 1000, off(a.x))]

    @call("linalg.matrix_norm", LINEAR)
    def _(d):
        a = d.array(values=matrix(d, 1 + d.below(5), 1 + d.below(5)))
        order = ["fro", 1, -1, 2, -2, np.inf, -np.inf][d.below(7)]
        q = {"fro": 0, np.inf: "inf", -np.inf: "-inf"}.get(order, order)
        return [a], {"Q": q}, [Want(np.linalg.matrix_norm(a.x, ord=order), 1000, 1000 * eps(a.x))]

    @call("linalg.matrix_power", LINEAR)
    def _(d):
        x = good(d)
        a, n = d.array(values=x), int(d.rng.integers(-4, 6))
        want = np.linalg.matrix_power(a.x, n)
        return [a], {"N": n}, [Want(want, 0, off(a.x) * max(1.0, float(np.abs(want).max())))]


def fourier():
    kinds = {"fft": COMPLEX, "ifft": COMPLEX, "irfft": COMPLEX, "hfft": COMPLEX, "rfft": WIDE, "ihfft": WIDE,
             "fftn": COMPLEX, "ifftn": COMPLEX, "irfftn": COMPLEX, "rfftn": WIDE}
    for name, of in kinds.items():
        @call("fft." + name, of)
        def _(d, name=name):
            f = getattr(np.fft, name)
            a = d.array(d.shape(1, empty=False), special=False)
            if name in ("irfft", "hfft", "irfftn") and a.x.shape[-1] < 2:
                a = d.array((3, 4), special=False)
            norm = ["backward", "ortho", "forward"]
            mode = d.below(3)
            axis = d.axis(a.x.shape) if name in ("fft", "ifft", "rfft", "ihfft") else -1
            want = f(a.x, norm=norm[mode]) if name.endswith("n") else f(a.x, axis=axis, norm=norm[mode])
            return [a], {"Mode": mode, "Axis": axis}, [Want(want, 0, 64 * eps(a.x) * float(np.sum(np.abs(a.x))))]

    for name in ["fftfreq", "rfftfreq"]:
        @call("fft." + name, WIDE)
        def _(d, f=getattr(np.fft, name)):
            n, q = 1 + d.below(40), float(d.rng.random() + 0.1)
            return [], {"Dt": d.kind, "N": n, "Q": q}, [Want(f(n, q).astype(d.kind), 2)]

    for name in ["fftshift", "ifftshift"]:
        @call("fft." + name, ALL)
        def _(d, f=getattr(np.fft, name)):
            a = d.array(d.shape(1))
            axes, _, p = d.some(a.x.shape)
            return [a], {"Axes": p.get("Axes")}, [same(f(a.x, axes))]


for fill in (elementwise, complex_numbers, creation, types, indexing, manipulation, statistics, products, linalg, fourier):
    fill()


def encoded(x):
    return {"Type": str(x.dtype), "Shape": x.shape, "Data": base64.b64encode(np.ascontiguousarray(x).tobytes()).decode()}


seed, cases = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(seed)
for name in sys.argv[3:] or CALLS:
    make, kinds = CALLS[name]
    for kind in kinds:
        for number in range(cases):
            operands, p, want = make(Draw(rng, kind, number))
            print(json.dumps({"Name": name, "Type": kind, "In": [encoded(o.lying) | {"View": o.view, "Stretch": o.x.shape[0] if o.view == "stretch" else 0} for o in operands], "P": p,
                              "Want": [encoded(w.x) | {"Ulp": w.ulp, "Tol": w.tol, "Zero": w.zero} for w in want]}))
