"""The functions that make, convert, search, move and reduce arrays."""

import numpy as np
from standard_draw import ALL, BOOL, COMPLEX, FLOATS, NUMBERS, REALS, Want, call, eps, same, sum_type


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
        kinds = ["integral", "real floating", "complex floating", "bool"]
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
        # gpk's order is total, with -0 below 0, so there is no -0 here
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
        """The bound for the difference of sums in another order."""
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
            want = f(a.x, axis=axes, keepdims=keep, dtype=sum_type(d.kind) if exact else d.kind)
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
                return [a], {"Axis": axis}, [same(f(a.x, axis=axis, dtype=sum_type(d.kind)))]
            wide = f(a.x.astype(np.complex128 if np.dtype(d.kind).kind == "c" else float), axis=axis).astype(d.kind)
            return [a], {"Axis": axis}, [Want(wide, 64, off(a.x, axis) if f is np.cumulative_sum else 1e-300)]

    @call("diff", NUMBERS)
    def _(d):
        a, n = d.array(d.shape(1), special=np.dtype(d.kind).kind != "c"), d.below(4)
        axis = d.axis(a.x.shape)
        return [a], {"Axis": axis, "N": n}, [same(np.diff(a.x, n, axis))]
