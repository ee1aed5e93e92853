"""Functions of NumPy that gpk has under no one name: docs/numpy.md gives an expression for each."""

import math

import numpy as np
from standard_draw import BOOL, COMPLEX, FLOATS, WIDE, Want, call, same
from standard_draw import INTEGERS as WHOLE

INF = np.inf

# Expressions call operations that other tests call for every type, so a few types are enough.
INTEGERS = ["uint8", "int64"]
REALS = WIDE + INTEGERS
NUMBERS = REALS + ["complex64"]
ALL = NUMBERS + BOOL


def wants(result, ulp=0, tol=0.0):
    return [Want(r, ulp, tol) for r in (result if isinstance(result, (tuple, list)) else [result])]


def row(name, kinds, f, least=0, most=3, empty=True, operands=1, ulp=0, tol=0.0, special=True):
    """A function of operands of one shape."""
    @call(name, kinds)
    def _(d):
        shape = d.shape(least, most, empty)
        a = [d.array(shape, special=special) for _ in range(operands)]
        return a, {"Dt": d.kind}, wants(f(*(x.x for x in a)), ulp, tol)


def along(name, kinds, f, least=1, empty=False, operands=1, ulp=0, tol=0.0, special=True, extra=0):
    """A function f(operands, axis, k) along an axis of N elements; k is from 0 to N-1+extra."""
    @call(name, kinds)
    def _(d):
        shape = d.shape(least, 3, empty)
        a, axis = [d.array(shape, special=special) for _ in range(operands)], d.axis(shape)
        n = shape[axis]
        k = d.below(n + extra) if n + extra else 0
        p = {"Dt": d.kind, "Axis": axis, "N": n, "I": k, "K": k}
        return a, p, wants(f(*(x.x for x in a), axis, k), ulp, tol)


def numbers(d, shape, below):
    return d.array(values=d.rng.integers(0, below, shape))


def creation():
    @call("np.logspace", WIDE)
    def _(d):
        start, stop, n = d.rng.uniform(-3, 3), d.rng.uniform(-3, 3), d.below(9)
        want = np.logspace(start, stop, n).astype(d.kind)
        return [], {"Dt": d.kind, "Start": start, "Stop": stop, "N": n}, [Want(want, 64)]

    @call("np.geomspace", WIDE)
    def _(d):
        start, stop, n = *d.rng.uniform(0.01, 100, 2), d.below(9)
        want = np.geomspace(start, stop, n).astype(d.kind)
        return [], {"Dt": d.kind, "Start": start, "Stop": stop, "N": n}, [Want(want, 64)]

    @call("np.tri", NUMBERS)
    def _(d):
        n, m, k = d.below(6), d.below(6), d.below(9) - 4
        return [], {"Dt": d.kind, "N": n, "M": m, "K": k}, [same(np.tri(n, m, k, d.kind))]

    @call("np.vander", ["float64", "int64"])
    def _(d):
        a, n = d.array(d.shape(1, 1), special=False), d.below(6)
        return [a], {"Dt": d.kind, "N": n}, [Want(np.vander(a.x, n), 8)]

    @call("np.copyto", ALL)
    def _(d):
        shape = d.shape()
        a, b = d.array(shape), d.array(d.second(shape))
        want = a.x.copy()
        np.copyto(want, b.x)
        return [a, b], {}, [same(want)]

    @call("np.copyto of where", ALL)
    def _(d):
        shape = d.shape()
        a, b, mask = d.array(shape), d.array(d.second(shape)), d.array(d.second(shape), "bool")
        want = a.x.copy()
        np.copyto(want, b.x, where=mask.x)
        return [a, b, mask], {}, [same(want)]

    @call("np.indices", ["int64"])
    def _(d):
        m, n = d.below(5), d.below(5)
        return [], {"M": m, "N": n}, [same(np.indices((m, n)))]

    @call("np.hanning", ["float64"])
    def _(d):
        n = 2 + d.below(9)
        return [], {"Dt": d.kind, "N": n}, [Want(np.hanning(n), 0, 1e-15)]

    @call("np.histogram_bin_edges", ["float64"])
    def _(d):
        start, n = d.rng.uniform(-3, 3), 1 + d.below(9)
        stop = start + d.rng.uniform(1, 3)
        return [], {"Start": start, "Stop": stop, "N": n}, [Want(np.histogram_bin_edges([0.5], n, (start, stop)), 4, 1e-15)]


def shapes():
    @call("np.rollaxis", ALL)
    def _(d):
        a = d.array(d.shape(1))
        i, j = d.below(a.x.ndim), d.below(a.x.ndim + 1)
        return [a], {"I": i, "J": j}, [same(np.rollaxis(a.x, i, j))]

    def pair(f):
        return lambda a, b: f((a, b))

    row("np.hstack", ALL, pair(np.hstack), 2, operands=2)
    row("np.hstack of vectors", ALL, pair(np.hstack), 1, 1, operands=2)
    row("np.column_stack of vectors", ALL, pair(np.column_stack), 1, 1, operands=2)
    row("np.vstack", ALL, pair(np.vstack), 2, operands=2)
    row("np.vstack of vectors", ALL, pair(np.vstack), 1, 1, operands=2)
    row("np.dstack", ALL, pair(np.dstack), 3, operands=2)
    row("np.dstack of matrices", ALL, pair(np.dstack), 2, 2, operands=2)
    row("np.dstack of vectors", ALL, pair(np.dstack), 1, 1, operands=2)
    row("np.block", ALL, lambda a, b: np.block([[a, b], [b, a]]), 2, operands=2)
    row("np.append", ALL, np.append, operands=2)
    along("np.insert", ALL, lambda a, b, axis, k: np.concatenate([*np.split(a, [k], axis)[:1], b, *np.split(a, [k], axis)[1:]], axis), operands=2, extra=1)
    along("np.delete", ALL, lambda a, axis, k: np.delete(a, k, axis))

    @call("np.resize", ALL)
    def _(d):
        a, shape = d.array(d.shape(empty=False)), d.shape()
        n = math.prod(shape)
        return [a], {"Shape": shape, "N": n, "K": -(-n // a.x.size)}, [same(np.resize(a.x, shape))]

    for axis, name in enumerate(["np.vsplit", "np.hsplit", "np.dsplit"]):
        @call(name, ALL)
        def _(d, axis=axis, f=getattr(np, name[3:])):
            a = d.array(d.shape(max(axis + 1, 2)))
            i, j = sorted(d.below(a.x.shape[axis] + 1) for _ in range(2))
            return [a], {"I": i, "J": j}, [same(x) for x in f(a.x, [i, j])]

    @call("np.repeat of counts", ALL)
    def _(d):
        a = d.array(d.shape(1, empty=False))
        axis = d.axis(a.x.shape)
        counts = numbers(d, a.x.shape[axis], 4)
        return [a, counts], {"Axis": axis, "N": int(counts.x.sum())}, [same(np.repeat(a.x, counts.x, axis))]

    @call("np.roll of axes", ALL)
    def _(d):
        a, i, j = d.array(d.shape(2)), d.below(9) - 4, d.below(9) - 4
        return [a], {"I": i, "J": j}, [same(np.roll(a.x, (i, j), (0, 1)))]

    row("np.fliplr", ALL, np.fliplr, 2)
    row("np.flipud", ALL, np.flipud, 1)
    row("np.rot90", ALL, np.rot90, 2)
    row("np.rot90 of 2", ALL, lambda a: np.rot90(a, 2), 2)
    row("np.rot90 of 3", ALL, lambda a: np.rot90(a, 3), 2)

    for mode in "edge reflect symmetric wrap".split():
        @call("np.pad of " + mode, ALL)
        def _(d, mode=mode):
            a = d.array(d.shape(1, empty=False))
            widths = [(d.below(12), d.below(4)) for _ in a.x.shape]
            return [a], {"Widths": widths}, [same(np.pad(a.x, widths, mode=mode))]

    row("np.atleast_1d", ALL, np.atleast_1d, 0, 0)
    row("np.atleast_2d", ALL, np.atleast_2d, 1, 1)
    row("np.atleast_3d of vectors", ALL, np.atleast_3d, 1, 1, empty=False)
    row("np.atleast_3d of matrices", ALL, np.atleast_3d, 2, 2)

    @call("np.diagonal", ALL)
    def _(d):
        a = d.array(d.shape(2, empty=False))
        k = int(d.rng.integers(1 - a.x.shape[0], a.x.shape[1]))
        return [a], {"K": k}, [same(np.diagonal(a.x, k))]

    @call("np.trace of matrices", ["float64", "int64"])
    def _(d):
        a = d.array((4, 3), special=False)
        k = int(d.rng.integers(-3, 3))
        return [a], {"K": k}, [Want(np.trace(a.x, k), 4, 1e-14)]

    @call("np.trace", ["float64", "int64", "complex128"])
    def _(d):
        a = d.array(d.shape(2, empty=False), special=False)
        k = int(d.rng.integers(1 - a.x.shape[0], a.x.shape[1]))
        return [a], {"K": k}, [Want(np.trace(a.x, k), 4, 1e-14)]


def places():
    @call("np.put", ALL)
    def _(d):
        a = d.array(d.shape(empty=False))
        at = numbers(d, d.below(6), a.x.size)
        values = d.array(at.x.shape)
        want = a.x.copy()
        np.put(want, at.x, values.x)
        return [a, at, values], {}, [same(want)]

    @call("np.place", ALL)
    def _(d):
        a = d.array(d.shape())
        k = d.below(a.x.ndim + 1)
        mask = d.array(values=d.values(a.x.shape[:k], "bool"))
        n = int(mask.x.sum())
        shape = [(n, *a.x.shape[k:]), d.second(a.x.shape[k:]), ()][d.below(3)]
        values = d.array(shape)
        want = a.x.copy()
        want[mask.x] = values.x
        return [a, mask, values], {}, [same(want)]

    row("np.select", REALS, lambda a, b: np.select([a > 0, b > 0], [a, b], a.dtype.type(7)), operands=2)

    @call("np.choose", NUMBERS)
    def _(d):
        shape = d.shape()
        i, a, b = numbers(d, shape, 2), d.array(shape), d.array(shape)
        return [i, a, b], {}, [same(np.choose(i.x, [a.x, b.x]))]

    row("np.argwhere", ALL, np.argwhere, 1)
    row("np.flatnonzero", ALL, np.flatnonzero)

    for name, right in [("np.digitize", False), ("np.digitize of right", True)]:
        @call(name, REALS)
        def _(d, right=right):
            a, bins = d.array(), d.array(values=np.sort(d.values(d.shape(1, 1), special=False)))
            return [a, bins], {}, [same(np.digitize(a.x, bins.x, right))]

    @call("np.ix_", ALL)
    def _(d):
        a = d.array(d.shape(2, empty=False))
        i, j = numbers(d, 3, a.x.shape[0]), numbers(d, 2, a.x.shape[1])
        return [a, i, j], {}, [same(a.x[np.ix_(i.x, j.x)])]

    @call("np.fill_diagonal", ALL)
    def _(d):
        a, b = d.array((3 + d.below(2), 3 + d.below(2))), d.array(())
        want = a.x.copy()
        np.fill_diagonal(want, b.x)
        return [a, b], {}, [same(want)]

    @call("np.unravel_index", ["int64"])
    def _(d):
        m, n = 1 + d.below(5), 1 + d.below(5)
        i = numbers(d, d.shape(), m * n)
        return [i], {"N": n}, [same(x) for x in np.unravel_index(i.x, (m, n))]

    @call("np.ravel_multi_index", ["int64"])
    def _(d):
        m, n, shape = 1 + d.below(5), 1 + d.below(5), d.shape()
        i, j = numbers(d, shape, m), numbers(d, shape, n)
        return [i, j], {"N": n}, [same(np.ravel_multi_index((i.x, j.x), (m, n)))]


def sets():
    sets = REALS + BOOL
    row("np.isin", FLOATS + WHOLE + BOOL, np.isin, operands=2)
    row("np.isin of complex", COMPLEX, np.isin, operands=2)
    row("np.union1d", sets, np.union1d, operands=2)
    row("np.intersect1d", sets, np.intersect1d, operands=2)
    row("np.setdiff1d", sets, np.setdiff1d, operands=2)

    @call("np.lexsort", REALS)
    def _(d):
        shape = d.shape(1, 1)
        a, b = (d.array(values=np.asarray(d.rng.integers(0, 3, shape), d.kind)) for _ in range(2))
        return [a, b], {}, [same(np.lexsort((a.x, b.x)))]

    row("np.sort_complex", COMPLEX, np.sort_complex, 1, 1, special=False)
    row("np.array_equiv", NUMBERS, lambda a, b: np.array_equiv(a, b), operands=2)

    @call("np.array_equal", NUMBERS)
    def _(d):
        shape = d.shape()
        a = d.array(shape)
        b = d.array(values=a.x.copy()) if d.below(2) else d.array(d.second(shape))
        return [a, b], {}, [same(np.array_equal(a.x, b.x))]


def groups():
    for name in ["maximum", "minimum"]:
        along(f"np.{name}.accumulate", FLOATS + WHOLE + BOOL, lambda a, axis, k, f=getattr(np, name): f.accumulate(a, axis), empty=True)

    @call("np.maximum.at", FLOATS)
    def _(d):
        a, n = d.array(d.shape(1, 1, empty=False)), 1 + d.below(5)
        i = numbers(d, a.x.shape, n)
        want = np.full(n, -INF, d.kind)
        np.maximum.at(want, i.x, a.x)
        return [a, i], {"N": n}, [Want(want)]

    @call("np.add.reduceat", ["float64", "int64"])
    def _(d):
        a = d.array((7,), special=False)
        starts = d.array(values=np.unique(np.append(d.rng.integers(0, 7, d.below(5)), 0)))
        return [a, starts], {"N": 7}, [Want(np.add.reduceat(a.x, starts.x), 4, 1e-14)]

    @call("np.interp", ["float64"])
    def _(d):
        n = 1 + d.below(5)
        x, xp, fp = d.array(), d.array(values=np.cumsum(d.rng.uniform(0.1, 1, n)) - 1), d.array((n,))
        return [x, xp, fp], {}, [Want(np.where(np.isnan(x.x), np.nan, np.interp(x.x, xp.x, fp.x)), 2)]


def arithmetic():
    row("np.float_power", WIDE + INTEGERS, np.float_power, operands=2, ulp=8)
    row("np.fmod", FLOATS, np.fmod, operands=2)
    def divmod(a, b):  # in float32 NumPy's quotients above 2^22 are off by one
        wide = a.astype(float), b.astype(float)
        return (np.floor_divide(*wide).astype(a.dtype) if a.dtype.kind == "f" else a // b), a % b

    row("np.divmod", REALS, divmod, operands=2, ulp=1)
    row("np.modf", FLOATS, lambda a: np.modf(a))
    row("np.fmax", FLOATS, np.fmax, operands=2)
    row("np.fmin", FLOATS, np.fmin, operands=2)
    row("np.round of decimals", WIDE, lambda a: np.round(a, 2), special=False)
    row("np.spacing", WIDE, np.spacing)
    row("np.heaviside", FLOATS, np.heaviside, operands=2)
    row("np.nan_to_num", ["float64"], np.nan_to_num)
    row("np.ediff1d", WIDE + INTEGERS, np.ediff1d, special=False)
    row("np.logaddexp2", ["float64"], np.logaddexp2, operands=2, ulp=8, tol=1e-15)
    row("np.deg2rad", WIDE, np.deg2rad, ulp=4)
    row("np.rad2deg", WIDE, np.rad2deg, ulp=4)
    row("np.sinc", WIDE, np.sinc, special=False, ulp=16, tol=1e-7)
    for name in "sinh cosh tanh tan".split():
        row(f"np.{name} of complex", ["complex128"], getattr(np, name), special=False, ulp=64)
    for name in "log2 log10".split():
        row(f"np.{name} of complex", ["complex128"], getattr(np, name), special=False, ulp=16, tol=1e-15)
    row("np.isneginf", FLOATS, np.isneginf)
    row("np.isposinf", FLOATS, np.isposinf)
    row("np.isreal", NUMBERS, np.isreal)
    row("np.iscomplex", NUMBERS, np.iscomplex)
    row("np.isclose", ["float64", "complex128"], np.isclose, operands=2)
    row("np.isclose of equal_nan", ["float64", "complex128"], lambda a, b: np.isclose(a, b, equal_nan=True), operands=2)
    row("np.logical_and of numbers", NUMBERS, np.logical_and, operands=2)
    row("np.logical_not of numbers", NUMBERS, np.logical_not)
    row("np.bitwise_and of out", INTEGERS + BOOL, np.bitwise_and, operands=2)
    row("np.cumsum", ["float64", "int64"], np.cumsum, special=False, ulp=64, tol=1e-13)
    row("np.cumprod", ["float64", "int64"], np.cumprod, special=False, ulp=64)
    along("np.unwrap", ["float64"], lambda a, axis, k: np.unwrap(a, axis=axis), special=False, tol=1e-12)

    @call("np.gradient", WIDE)
    def _(d):
        a = d.array((2 + d.below(6), 3), special=False)
        return [a], {"N": a.x.shape[0]}, [Want(np.gradient(a.x, axis=0), 4, 1e-7)]

    @call("np.trapezoid", ["float64"])
    def _(d):
        a = d.array(d.shape(1, empty=False), special=False)
        return [a], {"N": a.x.shape[-1]}, [Want(np.trapezoid(a.x), 8, 1e-13)]

    @call("np.trapezoid of x", ["float64"])
    def _(d):
        a = d.array(d.shape(1, empty=False), special=False)
        x = d.array((a.x.shape[-1],), special=False)
        return [a, x], {"N": a.x.shape[-1]}, [Want(np.trapezoid(a.x, x.x), 8, 1e-13)]


def reductions():
    @call("np.average", ["float64"])
    def _(d):
        x = d.values(d.shape(1, empty=False), special=False)
        a, w = d.array(values=x), d.array(values=d.rng.random(x.shape) + 0.5)  # weights whose sum does not cancel
        axis = d.axis(x.shape)
        return [a, w], {"Axis": axis}, [Want(np.average(a.x, axis, w.x), 64, 1e-12)]

    along("np.ptp", ["float64", "int64"], lambda a, axis, k: np.ptp(a, axis))
    for name in "nansum nanprod nancumsum nancumprod nanmean".split():
        @call("np." + name, ["float64"])
        def _(d, f=getattr(np, name)):
            x = d.values(d.shape(1, empty=False), special=False)
            edge = d.rng.choice([np.nan, np.nan, np.nan, INF, -INF], x.shape)
            a = d.array(values=np.where(d.rng.random(x.shape) < 0.3, edge, x))
            axis = d.axis(a.x.shape)
            return [a], {"Dt": d.kind, "Axis": axis}, [Want(f(a.x, axis=axis), 64, 1e-13)]

    def filled(d, a, axis, edge):
        """Returns a with edge in place of lines that are all NaN, for which NumPy raises an error."""
        return np.where(np.isnan(a).all(axis, keepdims=True), edge, a)

    for name, edge in [("nanargmax", -INF), ("nanargmin", INF)]:
        @call("np." + name, FLOATS)
        def _(d, f=getattr(np, name), edge=edge):
            a = d.array(d.shape(1, empty=False))
            axis = d.axis(a.x.shape)
            return [a], {"Axis": axis}, [Want(f(filled(d, a.x, axis, edge).astype(d.kind), axis))]

    for name in "nanmax nanmin".split():
        along("np." + name, FLOATS, lambda a, axis, k, f=getattr(np, name): f(a, axis))

    def some(f):
        """NumPy's result for finite numbers and NaN, of which some lines are all."""
        def made(d):
            x = d.values(d.shape(1), special=False)
            holes = d.rng.random(x.shape) < d.rng.choice([0.3, 0.8])
            a = d.array(values=np.where(holes, np.nan, x).astype(d.kind))
            axis, q, k = d.axis(a.x.shape), float(d.rng.choice([0, 1, d.rng.random()])), d.below(3)
            return [a], {"Axis": axis, "Q": q, "K": k}, [Want(f(a.x, axis, q, k), 64, 1e-14)]
        return made

    call("np.nanvar", ["float64"])(some(lambda a, axis, q, k: np.nanvar(a, axis, ddof=k)))
    call("np.nanstd", ["float64"])(some(lambda a, axis, q, k: np.nanstd(a, axis, ddof=k)))
    call("np.nanmedian", ["float64"])(some(lambda a, axis, q, k: np.nanmedian(a, axis)))
    call("np.nanquantile", ["float64"])(some(lambda a, axis, q, k: np.nanquantile(a, q, axis)))


def products():
    for name in ["cov", "corrcoef"]:
        @call("np." + name, ["float64", "complex128"])
        def _(d, f=getattr(np, name)):
            a = d.array((3, 4 + d.below(4)), special=False)
            return [a], {"N": a.x.shape[1]}, [Want(f(a.x), 64, 1e-13)]

    row("np.vdot", ["float64", "complex128"], np.vdot, operands=2, special=False, tol=1e-13)

    @call("np.inner", ["float64", "complex128"])
    def _(d):
        a, b = d.array((2, 3, 4), special=False), d.array((5, 4), special=False)
        return [a, b], {}, [Want(np.inner(a.x, b.x), 8, 1e-13)]

    @call("np.matvec", ["float64", "complex128"])
    def _(d):
        a, b = d.array((2, 3, 4), special=False), d.array((2, 4), special=False)
        return [a, b], {}, [Want(np.matvec(a.x, b.x), 8, 1e-13)]

    @call("np.vecmat", ["float64", "complex128"])
    def _(d):
        a, b = d.array((2, 3), special=False), d.array((2, 3, 4), special=False)
        return [a, b], {}, [Want(np.vecmat(a.x, b.x), 8, 1e-13)]

    @call("np.linalg.tensorinv", ["float64"])
    def _(d):
        a = d.array(values=d.rng.standard_normal((2, 3, 6)) + 4 * np.eye(6).reshape(2, 3, 6))
        return [a], {"N": 6, "Shape": [6, 2, 3]}, [Want(np.linalg.tensorinv(a.x, 2), 0, 1e-10)]

    @call("np.linalg.tensorsolve", ["float64"])
    def _(d):
        a = d.array(values=d.rng.standard_normal((2, 3, 6)) + 4 * np.eye(6).reshape(2, 3, 6))
        b = d.array((2, 3), special=False)
        return [a, b], {"N": 6, "Shape": [6]}, [Want(np.linalg.tensorsolve(a.x, b.x), 0, 1e-10)]


def rows():
    for fill in creation, shapes, places, sets, groups, arithmetic, reductions, products:
        fill()
