"""Products, linear algebra and Fourier transforms."""

import numpy as np
from standard_draw import ALL, COMPLEX, INTEGERS, LINEAR, NUMBERS, REALS, WIDE, Want, call, eps, same, sum_type


def products():
    def pairs(d, a, b, f):
        """Returns a product of NumPy, and the bound for the difference of sums in another order."""
        kind = np.dtype(d.kind)
        if kind.kind in "iu":
            to = np.int32 if kind.itemsize == 1 else kind
            return Want(f(a.astype(to), b.astype(to)))
        return Want(f(a, b), 2, 8 * eps(a) * float(np.sum(np.abs(a))) * float(np.abs(b).max(initial=1)))

    kinds = WIDE + COMPLEX + ["int8", "uint8", "int32", "int64"]  # gpk has no products of the other integers

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
        return [a], {"K": k}, [Want(np.linalg.trace(a.x, offset=k, dtype=sum_type(d.kind) if exact else d.kind), 0, 0 if exact else 64 * eps(a.x))]

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
    # Signs of factors are free, so the product of the factors is compared, and what is unique.
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
