#!/usr/bin/env python3
"""Times NumPy or CuPy on the operations that BenchmarkNames (benchmark/names_test.go) measures, under the same names.

OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python3 names.py [--dtypes fp64,fp32] [--ops op,op,...]
go test ./benchmark -run none -bench Names -cpu 1

python3 names.py --cupy
go test ./benchmark -run none -bench Names -names.device cuda
"""

import argparse
import time
import warnings

p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
p.add_argument("--cupy", action="store_true", help="CuPy on the GPU: the time of calls in a row, until the last has ended")
p.add_argument("--dtypes", default="fp64,fp32")
p.add_argument("--ops", default="", help="names, by commas")
args = p.parse_args()
if args.cupy:
    import cupy as np

    wait = np.cuda.get_current_stream().synchronize
else:
    import numpy as np

    wait = lambda: None

warnings.filterwarnings("ignore")
only = set(args.ops.split(",")) if args.ops else None
print(f"pkg: {np.__name__} {np.__version__}")
for dt in [{"fp64": np.float64, "fp32": np.float32}[name] for name in args.dtypes.split(",")]:
    r = np.random.default_rng(1)
    n = 1 << 20
    x = r.standard_normal(n).astype(dt)
    y = r.standard_normal(n).astype(dt)
    m = x.reshape(1024, 1024)
    m2 = y.reshape(1024, 1024)
    pos = np.abs(x) + dt(0.1)
    small = r.standard_normal(1000).astype(dt)
    idx = r.integers(0, n, n)
    rows = r.integers(0, 1024, 1024)
    ints = r.integers(0, 1000, n)
    along = r.integers(0, 1024, (1024, 1024))
    mask = x > 0
    unit = np.tanh(x)
    t3 = x.reshape(64, 128, 128)
    img = x.reshape(16, 256, 256)
    srt = np.sort(x)
    b64 = r.standard_normal((256, 64, 64)).astype(dt)
    s64 = b64 @ b64.swapaxes(1, 2) + 64 * np.eye(64, dtype=dt)
    s256 = 256 * np.eye(256, dtype=dt) + r.standard_normal((256, 256)).astype(dt)
    rgb = r.standard_normal((349525, 3)).astype(dt)
    rgb2 = r.standard_normal((349525, 3)).astype(dt)
    tall = r.standard_normal((100000, 10)).astype(dt)
    c = lambda i, j: m[i : 1022 + i, j : 1022 + j]

    def softmax():
        e = np.exp(m - m.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    def lse():
        a = m.max(1, keepdims=True)
        return np.log(np.exp(m - a).sum(1)) + a[:, 0]

    def topk(v, k, ax):
        i = np.argpartition(v, -k, axis=ax)
        i = np.take(i, range(-k, 0), axis=ax)
        w = np.take_along_axis(v, i, ax)
        o = np.argsort(-w, axis=ax)
        return np.take_along_axis(w, o, ax), np.take_along_axis(i, o, ax)

    def sadd():
        return np.bincount(ints, weights=x, minlength=1000)

    def putalong():
        a = m.copy()
        np.put_along_axis(a, along, m2, 1)
        return a

    def pd():
        p = rgb[:1000]
        return np.sqrt(((p[:, None] - p[None]) ** 2).sum(2))

    def onehot():
        a = np.zeros((1024, 1000), dt)
        a[np.arange(1024), rows % 1000] = 1
        return a

    C = np.ascontiguousarray
    f = {
        "add": lambda: x + y,
        "mul": lambda: x * dt(2),
        "div": lambda: x / y,
        "sqrt": lambda: np.sqrt(pos),
        "exp": lambda: np.exp(x),
        "log": lambda: np.log(pos),
        "log2": lambda: np.log2(pos),
        "log10": lambda: np.log10(pos),
        "log1p": lambda: np.log1p(pos),
        "expm1": lambda: np.expm1(x),
        "exp2": lambda: np.exp2(x),
        "sin": lambda: np.sin(x),
        "cos": lambda: np.cos(x),
        "tan": lambda: np.tan(x),
        "asin": lambda: np.arcsin(unit),
        "acos": lambda: np.arccos(unit),
        "atan": lambda: np.arctan(x),
        "atan2": lambda: np.arctan2(x, y),
        "sinh": lambda: np.sinh(x),
        "cosh": lambda: np.cosh(x),
        "tanh": lambda: np.tanh(x),
        "asinh": lambda: np.arcsinh(x),
        "acosh": lambda: np.arccosh(pos + dt(1)),
        "atanh": lambda: np.arctanh(unit),
        "hypot": lambda: np.hypot(x, y),
        "cbrt": lambda: np.cbrt(x),
        "pow": lambda: np.power(pos, y),
        "pow3": lambda: x**3,
        "square": lambda: np.square(x),
        "floor": lambda: np.floor(x),
        "round": lambda: np.round(x),
        "sign": lambda: np.sign(x),
        "abs": lambda: np.abs(x),
        "neg": lambda: -x,
        "floordiv": lambda: x // y,
        "rem": lambda: x % y,
        "copysign": lambda: np.copysign(x, y),
        "nextafter": lambda: np.nextafter(x, y),
        "logaddexp": lambda: np.logaddexp(x, y),
        "maximum": lambda: np.maximum(x, y),
        "clip": lambda: np.clip(x, -1, 1),
        "gt": lambda: x > y,
        "isnan": lambda: np.isnan(x),
        "isfinite": lambda: np.isfinite(x),
        "where": lambda: np.where(mask, x, y),
        "where0": lambda: np.where(mask, x, dt(0)),
        "cast_i32": lambda: x.astype(np.int32),
        "cast_i64": lambda: x.astype(np.int64),
        "cast_f16": lambda: x.astype(np.float16),
        "cast_bool": lambda: x.astype(bool),
        "bool_to": lambda: mask.astype(dt),
        "int_add": lambda: ints + ints,
        "int_floordiv": lambda: ints // 7,
        "int_rem": lambda: ints % 7,
        "int_sum": lambda: ints.sum(),
        "int_max": lambda: ints.max(),
        "int_mul": lambda: ints * ints,
        "int_and": lambda: ints & ints,
        "sum": lambda: x.sum(),
        "sum0": lambda: m.sum(0),
        "sum1": lambda: m.sum(1),
        "mean0": lambda: m.mean(0),
        "max": lambda: x.max(),
        "max0": lambda: m.max(0),
        "max1": lambda: m.max(1),
        "prod": lambda: x.prod(),
        "std": lambda: x.std(),
        "var0": lambda: m.var(0),
        "var1": lambda: m.var(1),
        "argmax": lambda: x.argmax(),
        "argmax0": lambda: m.argmax(0),
        "argmax1": lambda: m.argmax(1),
        "any": lambda: mask.any(),
        "all0": lambda: mask.reshape(1024, 1024).all(0),
        "count": lambda: np.count_nonzero(mask),
        "countf": lambda: np.count_nonzero(x),
        "cumsum": lambda: x.cumsum(),
        "cumsum0": lambda: m.cumsum(0),
        "cumsum1": lambda: m.cumsum(1),
        "cumprod": lambda: x.cumprod(),
        "diff": lambda: np.diff(x),
        "diff0": lambda: np.diff(m, axis=0),
        "sum_mid": lambda: t3.sum(1),
        "sum_02": lambda: t3.sum((0, 2)),
        "mean_last10": lambda: tall.mean(0),
        "sum_last10": lambda: tall.sum(1),
        "max_last10": lambda: tall.max(1),
        "norm1": lambda: np.linalg.norm(m, axis=1),
        "sort": lambda: np.sort(x),
        "sort1": lambda: np.sort(m, 1),
        "sort0": lambda: np.sort(m, 0),
        "argsort": lambda: np.argsort(x, kind="stable"),
        "argsort1": lambda: np.argsort(m, 1, kind="stable"),
        "topk": lambda: topk(x, 10, 0),
        "topk1": lambda: topk(m, 10, 1),
        "unique": lambda: np.unique(ints),
        "uniquef": lambda: np.unique(x),
        "median": lambda: np.median(x),
        "median1": lambda: np.median(m, 1),
        "median0": lambda: np.median(m, 0),
        "quantile": lambda: np.quantile(x, 0.9),
        "histogram": lambda: np.histogram(x, 100, (-4, 4)),
        "bincount": lambda: np.bincount(ints, minlength=1000),
        "searchsorted": lambda: np.searchsorted(srt, y),
        "sort_int": lambda: np.sort(ints),
        "argsort_int": lambda: np.argsort(ints, kind="stable"),
        "take": lambda: x[idx],
        "take_rows": lambda: m[rows],
        "take_cols": lambda: m[:, rows],
        "along0": lambda: np.take_along_axis(m, along, 0),
        "along1": lambda: np.take_along_axis(m, along, 1),
        "mask": lambda: x[mask],
        "nonzero": lambda: np.nonzero(mask),
        "nonzero2": lambda: np.nonzero(mask.reshape(1024, 1024)),
        "scatter_add": sadd,
        "put_along": putalong,
        "copy": lambda: x.copy(),
        "T": lambda: C(m.T),
        "T3": lambda: C(t3.transpose(2, 0, 1)),
        "T3b": lambda: C(t3.transpose(1, 0, 2)),
        "T3c": lambda: C(t3.transpose(0, 2, 1)),
        "flip": lambda: C(x[::-1]),
        "flip1": lambda: C(m[:, ::-1]),
        "flip0": lambda: C(m[::-1]),
        "roll": lambda: np.roll(x, 1000),
        "roll1": lambda: np.roll(m, 100, 1),
        "step2": lambda: C(x[::2]),
        "col": lambda: C(m[:, ::2]),
        "concat": lambda: np.concatenate((x, y)),
        "concat1": lambda: np.concatenate((m, m2), 1),
        "stack": lambda: np.stack((x, y)),
        "stack_last": lambda: np.stack((x, y), 1),
        "tile": lambda: np.tile(m, (2, 2)),
        "repeat": lambda: np.repeat(x, 3),
        "repeat1": lambda: np.repeat(m, 2, 1),
        "pad": lambda: np.pad(m, 1),
        "tril": lambda: np.tril(m),
        "diag": lambda: m.diagonal().copy(),
        "eye": lambda: np.eye(1024, dtype=dt),
        "arange": lambda: np.arange(n, dtype=dt),
        "linspace": lambda: np.linspace(0, 1, n, dtype=dt),
        "full": lambda: np.full(n, 3, dt),
        "zeros": lambda: np.zeros(n, dt),
        "onehot": onehot,
        "add_row": lambda: m + m2[0],
        "add_col": lambda: m + m2[:, :1],
        "add_T": lambda: m + m2.T,
        "outer": lambda: np.outer(small, small),
        "sub_rows": lambda: rgb - rgb2[0],
        "norm3": lambda: np.linalg.norm(rgb, axis=1),
        "cross": lambda: np.cross(rgb, rgb2),
        "dot": lambda: x @ y,
        "vecdot": lambda: np.vecdot(m, m2),
        "einsum_ij": lambda: np.einsum("ij,ij->i", m, m2),
        "einsum_trace": lambda: np.einsum("ii", m),
        "kron": lambda: np.kron(m[:32, :32], m[:32, :32]),
        "pairdist": pd,
        "stencil": lambda: (c(0, 1) + c(2, 1) + c(1, 0) + c(1, 2)) * dt(0.25),
        "softmax": softmax,
        "standardize": lambda: (m - m.mean(0)) / m.std(0),
        "logsumexp": lse,
        "poly": lambda: 3 * (x * x) + 2 * x + 1,
        "matmul512": lambda: m[:512, :512] @ m[:512, :512],
        "matmul_tall": lambda: tall.T @ tall,
        "matmul_b64": lambda: b64 @ b64,
        "matvec": lambda: m @ m2[0],
        "vecmat": lambda: m2[0] @ m,
        "matmul_small": lambda: m[:64, :64] @ m[:64, :64],
        "chol_b64": lambda: np.linalg.cholesky(s64),
        "solve256": lambda: np.linalg.solve(s256, m[:256, :8]),
        "inv256": lambda: np.linalg.inv(s256),
        "det_b64": lambda: np.linalg.det(s64),
        "inv_b64": lambda: np.linalg.inv(s64),
        "solve_b64": lambda: np.linalg.solve(s64, b64[:, :, :1]),
        "eigh_b64": lambda: np.linalg.eigh(s64),
        "svd_b64": lambda: np.linalg.svd(s64),
        "qr_b64": lambda: np.linalg.qr(b64),
        "eigh256": lambda: np.linalg.eigh(s256),
        "svd256": lambda: np.linalg.svd(s256),
        "svdvals256": lambda: np.linalg.svd(s256, compute_uv=False),
        "lstsq": lambda: np.linalg.lstsq(tall, tall[:, :1]),
        "pinv": lambda: np.linalg.pinv(tall),
        "fft": lambda: np.fft.fft(x),
        "rfft": lambda: np.fft.rfft(x),
        "fft1024": lambda: np.fft.fft(m),
        "rfft1024": lambda: np.fft.rfft(m),
        "fft2": lambda: np.fft.fft2(m),
        "fft_img": lambda: np.fft.rfft2(img),
        "fft1000": lambda: np.fft.fft(m[:, :1000]),
        "fftaxis0": lambda: np.fft.fft(m, axis=0),
        "normal": lambda: r.standard_normal(n, dtype=dt),
        "uniform": lambda: r.random(n, dtype=dt),
        "permutation": lambda: r.permutation(n),
        "s_add": lambda: small + small,
        "s_exp": lambda: np.exp(small),
        "s_sum": lambda: small.sum(),
        "s_sort": lambda: np.sort(small),
        "s_slice_add": lambda: small[:999] + small[1:],
        "s_max": lambda: small.max(),
        "s_cumsum": lambda: small.cumsum(),
        "s_argmax": lambda: small.argmax(),
        "s_where": lambda: np.where(small > 0, small, dt(0)),
        "s_take": lambda: small[rows[:100] % 1000],
    }
    for k in sorted(f):
        if only and k not in only:
            continue
        g = f[k]
        try:
            g()
            wait()
        except Exception as e:
            print(f"# {k}: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}", flush=True)
            continue
        s = time.perf_counter()
        g()
        wait()
        once = time.perf_counter() - s
        inner = max(1, int(4e-3 / max(once, 1e-7)))
        best = 9e9
        for _ in range(7 if once < 1 else 1):
            s = time.perf_counter()
            for _ in range(inner):
                g()
            wait()
            best = min(best, (time.perf_counter() - s) / inner)
        print(f"BenchmarkNames/op={k}/dtype=fp{8 * np.dtype(dt).itemsize}\t{inner}\t{best * 1e9:.0f} ns/op", flush=True)
