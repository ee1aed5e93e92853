"""Random calls of numpy.fft with their results, a JSON object a line: numpy_fft.py seed cases."""

import json
import sys

import numpy as np

rng = np.random.default_rng(int(sys.argv[1]))
NORMS = ["backward", "ortho", "forward"]


def emit(op, x, want, **more):
    x, want = np.asarray(x, complex), np.asarray(want, complex)
    flat = lambda a: np.stack([a.real, a.imag], -1).ravel().tolist()
    print(json.dumps(dict(op=op, shape=x.shape, data=flat(x), wantshape=want.shape, want=flat(want), **more)))


def operand(low=1):
    shape = rng.integers(1, 9, rng.integers(low, 4))
    x = rng.standard_normal(shape)
    return x, x + 1j * rng.standard_normal(shape)


for _ in range(int(sys.argv[2])):
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        x, z = operand()
        x = x if name in ("rfft", "ihfft") else z
        axis, norm, n = int(rng.integers(-x.ndim, x.ndim)), NORMS[rng.integers(3)], int(rng.integers(1, 13))
        emit(name, x, getattr(np.fft, name)(x, n, axis, norm), axes=[axis], n=[n], norm=norm)
    for name in ("fft2", "ifft2", "rfft2", "irfft2"):
        x, z = operand(2)
        x = x if name == "rfft2" else z
        axes = [int(a) for a in rng.permutation(x.ndim)[:2]]
        norm, n = NORMS[rng.integers(3)], [int(v) for v in rng.integers(1, 10, 2)]
        emit(name, x, getattr(np.fft, name)(x, n, axes, norm), axes=axes, n=n, norm=norm)
    for name in ("fftn", "ifftn", "rfftn", "irfftn"):
        x, z = operand()
        x = x if name == "rfftn" else z
        norm = NORMS[rng.integers(3)]
        if name == "irfftn" and x.shape[-1] == 1:
            x = np.repeat(x, 3, -1)
        emit(name, x, getattr(np.fft, name)(x, norm=norm), norm=norm)
    for name in ("fftshift", "ifftshift"):
        x, _ = operand()
        axis = int(rng.integers(x.ndim))
        emit(name, x, getattr(np.fft, name)(x, axis), axes=[axis])
        emit(name + " all", x, getattr(np.fft, name)(x))
    n, d = int(rng.integers(1, 50)), float(rng.uniform(0.1, 3))
    emit("fftfreq", [d], np.fft.fftfreq(n, d), n=[n])
    emit("rfftfreq", [d], np.fft.rfftfreq(n, d), n=[n])
    m, n = (int(v) for v in rng.integers(1, 12, 2))
    if rng.integers(3) == 0:
        m, n = m + int(rng.integers(60, 90)), n + int(rng.integers(60, 90))
    z = rng.standard_normal(m + n) + 1j * rng.standard_normal(m + n)
    z = z.real if rng.integers(2) else z
    for i, mode in enumerate(("full", "same", "valid")):
        emit("convolve", z, np.convolve(z[:m], z[m:], mode), n=[m, i])
        emit("correlate", z, np.correlate(z[:m], z[m:], mode), n=[m, i])
