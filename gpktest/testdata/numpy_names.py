"""Writes random calls of NumPy's functions and their results, one JSON object a line:

    {"op": "tile", "shape": [2, 3], "data": [...], "ints": [2, 1], "q": 0.5, "want": [shape, data]}

All numbers are float64. Arguments: a seed and the number of calls of each function.
"""

import json
import sys

import numpy as np


def indexed(rng, shape):
    """An index of each leading axis as four integers, kind, start, stop and step, and as NumPy
    takes it. Kind 0 is an integer, 1 to 4 a slice with both ends, with the first, with the
    second and with none, and 5 all of the axis."""
    ints, index = [], []
    for n in shape[: rng.integers(0, len(shape) + 1)]:
        kind = int(rng.integers(0, 6))
        start, stop = (int(e) for e in rng.integers(-2 * n - 2, 2 * n + 3, 2))
        step = int(rng.choice([1, 2, 3, -1, -2, -3]))
        if kind == 0:
            start = int(rng.integers(-n, n))
        ints += [kind, start, stop, step]
        index.append([start, slice(start, stop, step), slice(start, None, step), slice(None, stop, step),
                      slice(None, None, step), slice(None)][kind])
    return ints, tuple(index)


def put(x, indices, axis):
    out = x.copy()
    np.put_along_axis(out, indices, np.arange(indices.size, dtype=np.float64).reshape(indices.shape), axis)
    return out


def added(x, indices, axis):
    out = np.moveaxis(x.copy(), axis, 0)
    np.add.at(out, indices, np.moveaxis(np.take(x, indices, axis), axis, 0) + 1)
    return np.moveaxis(out, 0, axis)


def calls(rng):
    """Yields one call of each function: its name, the operand x, its integer arguments, its
    floating-point argument, and the result."""
    x = rng.standard_normal(tuple(rng.integers(1, 5, rng.integers(1, 5))))
    d, e = (int(n) for n in rng.integers(-x.ndim, x.ndim, 2))
    k, n = int(rng.integers(-3, 4)), int(rng.integers(1, x.shape[d] + 1))
    reps = [int(r) for r in rng.integers(0, 4, rng.integers(1, 4))]
    q = float(rng.random())
    m = x if x.ndim > 1 else np.stack([x, -x])
    rows, cols = m.shape[-2:]
    flat = m.reshape(-1, cols)
    k2 = int(rng.integers(-flat.shape[0], cols + 1))
    few = np.round(x)
    some = few.ravel()
    at, index = indexed(rng, x.shape)
    places = rng.integers(-x.shape[d], x.shape[d], rng.integers(1, 7))
    shape = list(x.shape)
    shape[d] = int(rng.integers(1, 5))
    # One order in which the last of equal indices counts: along the axis alone.
    along = rng.permuted(np.broadcast_to(np.resize(np.arange(x.shape[d]), shape[d]).reshape([-1 if i == d % x.ndim else 1 for i in range(x.ndim)]), shape), axis=d)
    high = 2 + q
    yield "index", x, at, 0, x[index]
    yield "argsort", few, [d], 0, np.argsort(few, axis=d, stable=True).astype(np.float64)
    yield "searchsorted", few, [], 0, np.searchsorted(np.sort(some), few, "left").astype(np.float64)
    yield "searchsorted right", few, [], 0, np.searchsorted(np.sort(some), few, "right").astype(np.float64)
    yield "unique", few, [], 0, np.unique(few)
    yield "unique index", few, [], 0, np.unique_all(few).indices.astype(np.float64)
    yield "unique inverse", few, [], 0, np.unique_all(few).inverse_indices.astype(np.float64)
    yield "unique counts", few, [], 0, np.unique_all(few).counts.astype(np.float64)
    yield "histogram", x, [n], high, np.histogram(x, n, (-high, high))[0].astype(np.float64)
    yield "histogram edges", x, [n], high, np.histogram(x, n, (-high, high))[1]
    yield "histogram density", x, [n], high, np.histogram(np.clip(x, -high, high), n, (-high, high), density=True)[0]
    yield "histogram of edges", x, [], 0, np.histogram(x, np.unique(np.append(few, [-1.0, 9.0])))[0].astype(np.float64)
    yield "bincount", few, [n], 0, np.bincount(np.abs(some).astype(np.int64), minlength=n).astype(np.float64)
    yield "bincount of weights", few, [n], 0, np.bincount(np.abs(some).astype(np.int64), some, minlength=n)
    yield "nonzero", few, [], 0, np.stack(np.nonzero(few)).astype(np.float64)
    yield "mask", x, [], 0, x[x > 0]
    yield "compress", x, [d], 0, np.compress(np.arange(x.shape[d]) % 2 == 0, x, axis=d)
    yield "put along", x, [d, *shape, *along.ravel().tolist()], 0, put(x, along, d)
    yield "add at", x, [d, *places.tolist()], 0, added(x, places, d)
    yield "tile", x, reps, 0, np.tile(x, reps)
    yield "roll", x, [k, d], 0, np.roll(x, k, d)
    yield "roll flat", x, [k], 0, np.roll(x, k)
    yield "moveaxis", x, [d, e], 0, np.moveaxis(x, d, e)
    yield "swapaxes", x, [d, e], 0, np.swapaxes(x, d, e)
    yield "tril", m, [k], 0, np.tril(m, k)
    yield "triu", m, [k], 0, np.triu(m, k)
    yield "diag", flat, [k2], 0, np.diag(flat, k2)
    yield "std", x, [d, k], 0, np.std(x, axis=d, ddof=0) if k < 1 or k >= x.shape[d] else np.std(x, axis=d, ddof=k)
    yield "median", x, [d], 0, np.median(x, axis=d, keepdims=True)
    yield "quantile", x, [d], q, np.quantile(x, q, axis=d)
    yield "cumprod", x, [d], 0, np.cumprod(x, axis=d)
    yield "norm", x, [d], 1 + 3 * q, np.linalg.vector_norm(x, axis=d, ord=1 + 3 * q)
    yield "argmax", x, [], 0, np.argmax(x).astype(np.float64)
    yield "windows", x, [n, d], 0, np.lib.stride_tricks.sliding_window_view(x, n, axis=d)
    yield "kron", x, [], 0, np.kron(x, x.T)
    yield "along", x, [d], 0, np.take_along_axis(x, np.argmax(x, axis=d, keepdims=True), axis=d)
    yield "einsum", m, [], 0, np.einsum("...ij,...kj->...ik", m, m)
    yield "einsum order", flat, [], 0, np.einsum("ij,kj,kl->il", flat, flat, flat)


rng = np.random.default_rng(int(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    for op, x, ints, q, want in calls(rng):
        print(json.dumps({"op": op, "shape": x.shape, "data": x.ravel().tolist(), "ints": ints, "q": q,
                          "want": np.asarray(want).ravel().tolist(), "wantShape": np.shape(want)}))
