"""The element-wise functions."""

import numpy as np
from standard_draw import ALL, BOOL, COMPLEX, FLOATS, INTEGERS, NUMBERS, REALS, Want, call, eps


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
    # Of equal numbers the second, as in the standard and in C. NumPy returns the first one in float16.
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
    """The functions of finite complex numbers; the standard and C99 leave infinities and NaN open in part."""
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
