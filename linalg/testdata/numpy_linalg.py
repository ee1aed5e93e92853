"""Random calls of numpy.linalg with their results, a JSON object a line: numpy_linalg.py seed cases.

Complex numbers are pairs. What is unique is compared: no factors, whose signs are free, but for
Cholesky's.
"""

import json
import sys
import warnings

import numpy as np
from numpy import linalg

warnings.simplefilter("ignore")
rng = np.random.default_rng(int(sys.argv[1]))


def pairs(a):
    a = np.asarray(a, complex)
    return np.stack([a.real, a.imag], -1).ravel().tolist()


def emit(op, a, want, b=None, **more):
    more |= dict(op=op, shape=np.shape(a), data=pairs(a), wantshape=np.shape(want), want=pairs(want))
    if b is not None:
        more |= dict(bshape=np.shape(b), bdata=pairs(b))
    # the condition is infinite for matrices of the rank test, whose results are integers
    condition = min(1e6, float(linalg.cond(a).max()))
    print(json.dumps(more | dict(complex=bool(np.iscomplexobj(a)), condition=condition)))


def normal(*shape):
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if kind else x


for case in range(int(sys.argv[2])):
    kind = case % 2
    lead = tuple(int(v) for v in rng.integers(1, 4, rng.integers(0, 3)))
    n, m, k = (int(v) for v in rng.integers(1, 9, 3))
    a, r = normal(*lead, n, n), normal(*lead, m, n)
    a = a + 3 * np.eye(n)  # well enough conditioned to compare numbers
    h = a @ np.swapaxes(a, -1, -2).conj()
    b = normal(*lead[len(lead) // 2:], n, k)
    emit("cholesky", h, linalg.cholesky(h))
    emit("cholesky upper", h, linalg.cholesky(h, upper=True))
    emit("solve", a, linalg.solve(a, b), b)
    emit("solve vector", a, linalg.solve(a, b[(0,) * (b.ndim - 2)][:, 0]), b[(0,) * (b.ndim - 2)][:, 0])
    emit("inv", a, linalg.inv(a))
    emit("det", a, linalg.det(a))
    sign, log = linalg.slogdet(a)
    emit("slogdet sign", a, sign)
    emit("slogdet log", a, log)
    emit("eigvalsh", h, linalg.eigvalsh(h))
    emit("eigvalsh upper", a, linalg.eigvalsh(a, "U"))
    # eigenvalues whose real parts are apart, and vectors without their phases
    basis = np.eye(n) + normal(*lead, n, n) / (4 * n)
    general = basis @ (np.arange(1, n + 1)[:, None] * np.linalg.inv(basis))
    values, vectors = linalg.eig(general)
    rank = np.argsort(values.real, -1)
    emit("eigvals", general, np.take_along_axis(values, rank, -1))
    emit("eig vectors", general, np.abs(np.take_along_axis(vectors, rank[..., None, :], -1)))
    emit("svdvals", r, linalg.svd(r, compute_uv=False))
    q, t = linalg.qr(r)
    emit("qr size", r, np.abs(t))
    low = r.copy()
    if m > 1:
        low[..., 0, :] = low[..., 1, :]
    emit("rank", low, linalg.matrix_rank(low))
    emit("pinv", r, linalg.pinv(r, rcond=1e-3), q=1e-3)
    one = r[(0,) * len(lead)]
    right = normal(m, k)
    for i, what in enumerate(linalg.lstsq(one, right, rcond=1e-3)):
        if i != 1 or what.size:
            emit(f"lstsq {i}", one, what, right, q=1e-3)
    for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro"):
        emit("cond", a, linalg.cond(a, p), q={None: 2, "fro": 0, np.inf: 100, -np.inf: -100}.get(p, p))
    emit("cond", r, linalg.cond(r), q=2)
