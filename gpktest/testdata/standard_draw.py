"""The list of calls, and random operands, for standard.py."""

import numpy as np

FLOATS = ["float32", "float64", "float16"]
WIDE = ["float32", "float64"]
INTEGERS = ["int8", "uint8", "int32", "int64", "int16", "uint16", "uint32", "uint64"]
COMPLEX = ["complex64", "complex128"]
BOOL = ["bool"]
REALS = FLOATS + INTEGERS
NUMBERS = REALS + COMPLEX
ALL = NUMBERS + BOOL
LINEAR = WIDE + COMPLEX
SHAPES = [(), (0,), (1,), (7,), (4, 3), (2, 3, 4), (3, 0, 2), (40,), (1, 5), (2, 1, 3, 2)]
CALLS = {}


def sum_type(kind):
    """gpk's type of sums and products of integers and bool."""
    return np.uint64 if kind in ("uint16", "uint32", "uint64") else np.int64


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
        """Returns an operand: its elements in memory, the view, and the array that NumPy reads."""
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
            between = np.ascontiguousarray(values[..., 1::2])  # not read, so the bits are others
            values[..., 1::2] = ~between if between.dtype == bool else (~between.view(np.uint8)).view(between.dtype)
        return Operand(np.ascontiguousarray(values).reshape(values.shape), view, np.asarray(x))

    def second(self, shape):
        """Returns a shape that broadcasts with another."""
        kind = self.below(4)
        if kind == 0 or not shape:
            return shape
        if kind == 1:
            return shape[self.below(len(shape) + 1):]
        return tuple(1 if self.rng.random() < 0.5 else n for n in shape)

    def axis(self, shape):
        return int(self.rng.integers(-len(shape), len(shape)))

    def some(self, shape):
        """Returns axes of a reduction, for NumPy and for gpk."""
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
