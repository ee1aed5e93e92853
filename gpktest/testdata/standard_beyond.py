"""Functions of NumPy that the standard lacks and gpk has."""

import numpy as np
from standard_draw import ALL, BOOL, COMPLEX, FLOATS, INTEGERS, NUMBERS, REALS, WIDE, Want, call, eps, same
from standard_elementwise import unary


def numbers():
    unary("np.cbrt", np.cbrt, FLOATS, 6)
    unary("np.exp2", np.exp2, FLOATS, 6)
    unary("np.angle", np.angle, FLOATS, 6)

    def wide(d, x):
        return x.astype(complex if np.dtype(d.kind).kind == "c" else float)

    @call("np.median", FLOATS)
    def _(d):
        a = d.array(d.shape(empty=False), special=False)
        axes, keep, p = d.some(a.x.shape)
        return [a], p, [Want(np.median(wide(d, a.x), axis=axes, keepdims=keep).astype(d.kind), 1)]

    @call("np.quantile", FLOATS)
    def _(d):
        a, q = d.array(d.shape(empty=False), special=False), float(d.rng.random())
        axes, keep, p = d.some(a.x.shape)
        want = np.quantile(wide(d, a.x), q, axis=axes, keepdims=keep).astype(d.kind)
        return [a], p | {"Q": q}, [Want(want, 2, 4 * eps(a.x) * float(np.abs(a.x).max()))]

    @call("np.logaddexp.reduce", FLOATS)
    def _(d):
        a = d.array(d.shape(empty=False), special=False)
        axes, keep, p = d.some(a.x.shape)
        axes = tuple(range(a.x.ndim)) if axes is None else axes
        x = wide(d, a.x)
        want = np.log(np.sum(np.exp(x), axis=axes, keepdims=keep)).astype(d.kind)
        return [a], p, [Want(want, 4, 8 * eps(a.x))]

    @call("np.linalg.norm", FLOATS + COMPLEX)
    def _(d):
        a = d.array(d.shape(1), special=False)
        axes, keep, p = d.some(a.x.shape)
        want = np.sqrt(np.sum(np.abs(wide(d, a.x)) ** 2, axis=axes, keepdims=keep))
        return [a], p, [Want(want.astype(np.abs(a.x).dtype), 64 if d.kind != "float16" else 1)]

    @call("np.histogram", REALS)
    def _(d):
        a, n = d.array(special=False), 1 + d.below(9)
        q = float(d.rng.random()) + 2
        counts, edges = np.histogram(wide(d, a.x), n, (-q, q))
        return [a], {"N": n, "Q": q}, [same(counts.astype(np.int64)), Want(edges, 2, 1e-15)]

    @call("np.bincount", INTEGERS)
    def _(d):
        a = d.array(values=np.abs(d.values(d.shape(1, 1), special=False)))
        n = d.below(12)
        return [a], {"N": n}, [same(np.bincount(a.x.astype(np.int64), minlength=n))]


def places():
    @call("np.extract", ALL)
    def _(d):
        a = d.array()
        shape = a.x.shape[: d.below(a.x.ndim + 1)]
        m = d.array(shape, "bool")
        want = a.x[m.x] if m.x.ndim else a.x[None][np.reshape(m.x, 1)]
        return [a, m], {}, [same(want)]

    @call("np.compress", ALL)
    def _(d):
        a = d.array(d.shape(1))
        axis = d.axis(a.x.shape)
        m = d.array((a.x.shape[axis],), "bool")
        return [a, m], {"Axis": axis}, [same(np.compress(m.x, a.x, axis))]

    @call("np.s_", ALL)
    def _(d):
        a = d.array(d.shape(1))
        n = a.x.shape[0]
        i, j = (int(v) for v in d.rng.integers(-2 * n - 2, 2 * n + 3, 2))
        k = int(d.rng.choice([1, 2, 3, -1, -2]))
        return [a], {"I": i, "J": j, "K": k}, [same(a.x[i:j:k])]

    @call("np.put_along_axis", ALL)
    def _(d):
        a = d.array(d.shape(1, empty=False))
        axis = d.axis(a.x.shape)
        shape = list(a.x.shape)
        shape[axis] = 1
        at = d.array(values=d.rng.integers(-a.x.shape[axis], a.x.shape[axis], shape))
        v = d.array(shape)
        want = a.x.copy()
        np.put_along_axis(want, at.x, v.x, axis)
        return [a, at, v], {"Axis": axis}, [same(want)]

    @call("np.add.at", NUMBERS)
    def _(d):
        exact = np.dtype(d.kind).kind in "iu"
        a = d.array(d.shape(1, empty=False), special=exact)
        at = d.array(values=d.rng.integers(-a.x.shape[0], a.x.shape[0], d.below(9)))
        v = d.array(at.x.shape + a.x.shape[1:], special=exact)
        want = a.x.copy()
        np.add.at(want, at.x, v.x)
        tol = 0 if exact else 16 * eps(a.x) * float(1 + np.sum(np.abs(v.x)) + np.abs(a.x).max())
        return [a, at, v], {"Axis": 0}, [Want(want, 0, tol)]

    @call("np.pad", REALS)
    def _(d):
        a, v = d.array(d.shape(1)), d.below(100)
        widths = [[d.below(3), d.below(3)] for _ in a.x.shape]
        return [a], {"Widths": widths, "Value": v}, [same(np.pad(a.x, widths, constant_values=v))]

    @call("np.split", ALL)
    def _(d):
        a = d.array(d.shape(1))
        axis = d.axis(a.x.shape)
        at = sorted(d.below(a.x.shape[axis] + 1) for _ in range(2))
        return [a], {"Axis": axis, "Axes": at}, [same(x) for x in np.split(a.x, at, axis)]

    @call("np.swapaxes", ALL)
    def _(d):
        a = d.array(d.shape(1))
        i, j = d.axis(a.x.shape), d.axis(a.x.shape)
        return [a], {"I": i, "J": j}, [same(np.swapaxes(a.x, i, j))]

    @call("np.ravel", ALL)
    def _(d):
        a = d.array()
        return [a], {}, [same(np.ravel(a.x))]

    @call("np.diag", ALL)
    def _(d):
        a = d.array(d.shape(1, 2, empty=False))
        rows, cols = (a.x.shape if a.x.ndim == 2 else (3, 3))
        k = int(d.rng.integers(-rows, cols + 1))
        return [a], {"K": k}, [same(np.diag(a.x, k))]

    @call("np.lib.stride_tricks.sliding_window_view", ALL)
    def _(d):
        a = d.array(d.shape(1, empty=False))
        axis = d.axis(a.x.shape)
        n = 1 + d.below(a.x.shape[axis])
        return [a], {"N": n, "Axis": axis}, [same(np.lib.stride_tricks.sliding_window_view(a.x, n, axis))]

    @call("np.partition", REALS + BOOL)
    def _(d):  # in order, and without -0, which gpk's order has below 0
        x = d.values(d.shape(1, empty=False))
        a = d.array(values=x if d.kind == "bool" else x + np.zeros((), d.kind))
        axis = d.axis(a.x.shape)
        n = a.x.shape[axis]
        k = d.below(n + 1)
        at = np.flip(n - 1 - np.argsort(np.flip(a.x, axis), axis=axis, stable=True), axis)
        at = np.take(at, np.arange(k), axis)
        return [a], {"K": k, "Axis": axis}, [same(np.take_along_axis(a.x, at, axis)), same(at)]


def pairs():
    @call("np.kron", NUMBERS)
    def _(d):
        a, b = d.array(d.shape(1, 2), special=False), d.array(d.shape(1, 2), special=False)
        return [a, b], {}, [Want(np.kron(a.x, b.x), 2)]

    @call("np.einsum", WIDE + COMPLEX + ["int32", "int64"])
    def _(d):
        a, b = d.array((3, 2, 4), special=False), d.array((3, 5, 4), special=False)
        tol = 0 if np.dtype(d.kind).kind == "i" else 64 * eps(a.x) * float(np.abs(a.x).max() * np.abs(b.x).max())
        return [a, b], {}, [Want(np.einsum("bij,bkj->bik", a.x, b.x), 0, tol)]

    for name in ["convolve", "correlate"]:
        @call("np." + name, WIDE + COMPLEX)
        def _(d, f=getattr(np, name)):
            a, b = d.array((1 + d.below(30),), special=False), d.array((1 + d.below(9),), special=False)
            mode = d.below(3)
            want = f(a.x, b.x, ["full", "same", "valid"][mode])
            return [a, b], {"Mode": mode}, [Want(want, 0, 64 * eps(a.x) * float(np.sum(np.abs(a.x)) * np.abs(b.x).max()))]
