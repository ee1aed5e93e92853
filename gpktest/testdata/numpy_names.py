"""Writes random calls of NumPy's functions and their results, one JSON object a line:

    {"op": "tile", "shape": [2, 3], "data": [...], "ints": [2, 1], "q": 0.5, "want": [shape, data]}

All numbers are float64. Arguments: a seed and the number of calls of each function.
"""

import json
import sys

import numpy as np


def calls(rng):
    """Each function with how it is called on x: the integers and the number that it
    takes, and the result."""
    x = rng.standard_normal(tuple(rng.integers(1, 5, rng.integers(1, 5))))
    d, e = (int(n) for n in rng.integers(-x.ndim, x.ndim, 2))
    k, n = int(rng.integers(-3, 4)), int(rng.integers(1, x.shape[d] + 1))
    reps = [int(r) for r in rng.integers(0, 4, rng.integers(1, 4))]
    q = float(rng.random())
    m = x if x.ndim > 1 else np.stack([x, -x])
    rows, cols = m.shape[-2:]
    flat = m.reshape(-1, cols)
    k2 = int(rng.integers(-flat.shape[0], cols + 1))
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
