"""NumPy measured on the kernel matrices that quantum's BenchmarkGram measures on the CPU, under the same names.

    python3 numpy_gram.py > numpy-gram.txt      # one thread; beside it GOMAXPROCS=1 go test ./quantum -run - -bench Gram

path=general: states of all samples at once, their complex64 product, abs, square (ry_cz: float32, its states are real).
path=product: the closed form, a loop over features. form=cosines is cos((x - y)/2)^2 as one writes it; without it the
loop does with two outer products for each feature, which is faster. All in float32 and complex64, as gpk's Standard.
The time is the processor's, the best of many: machines are shared. BenchmarkGram's is its least-cpu-ns.
"""
import os, time

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
import numpy as np

rng = np.random.default_rng(1)
print(f"pkg: numpy {np.__version__}\nthreads: 1")


def emit(name, f, rounds):
    best = min(clock(f) for _ in range(rounds))
    print(f"BenchmarkGram/{name}\t1\t{best} ns/op", flush=True)


def clock(f):
    t = time.process_time_ns(); f()
    return time.process_time_ns() - t


def signs(q):
    b = np.arange(1 << q); s = np.ones(1 << q, np.float32)
    for w in range(q): s *= 1 - 2 * ((b >> (q - 1 - w)) & (b >> (q - 1 - (w + 1) % q)) & 1)
    return s


def states(x, rz, sign):
    psi = np.ones((len(x), 1), np.complex64 if rz else np.float32)
    for w in range(x.shape[1]):
        c, s = np.cos(x[:, w] / 2), np.sin(x[:, w] / 2)
        if rz: e = np.exp(-0.5j * x[:, w]); c, s = c * e, s * e.conj()
        v = np.stack([c, s], 1).astype(psi.dtype)
        psi = (psi[:, :, None] * v[:, None, :]).reshape(len(x), -1)
    return psi * sign


def square(s): return np.square(np.abs(s @ s.conj().T))


def closed(x, rz):
    k = np.ones((len(x), len(x)), np.float32)
    for w in range(x.shape[1]):
        c, s = np.cos(x[:, w] / 2), np.sin(x[:, w] / 2)
        if rz:
            e = np.exp(-0.5j * x[:, w]); a, b = (c * e).astype(np.complex64), (s * e.conj()).astype(np.complex64)
            k *= np.square(np.abs(np.outer(a, a.conj()) + np.outer(b, b.conj())))
        else: k *= np.square(np.outer(c, c) + np.outer(s, s))
    return k


def cosines(x):
    k = np.ones((len(x), len(x)), np.float32)
    for w in range(x.shape[1]): k *= np.cos((x[:, w, None] - x[None, :, w]) / 2) ** 2
    return k


x = (rng.random((1000, 8)) * np.pi).astype(np.float32); sign = signs(8)
for name, rz in (("ryrz_cz", True), ("ry_cz", False)):
    s = states(x, rz, sign)
    emit(f"circuit={name}/path=general/precision=standard/qubits=8/n=1000", lambda: square(states(x, rz, sign)), 30)
    emit(f"circuit={name}/path=general/precision=standard/qubits=8/n=1000/part=product", lambda: square(s), 30)
for n, q, rounds in ((1000, 8, 40), (2000, 8, 10), (2000, 16, 5)):
    x = (rng.random((n, q)) * np.pi).astype(np.float32)
    name = f"path=product/precision=standard/qubits={q}/n={n}"
    emit(f"circuit=ry/{name}", lambda: closed(x, False), rounds)
    emit(f"circuit=ry/{name}/form=cosines", lambda: cosines(x), rounds)
    emit(f"circuit=ryrz/{name}", lambda: closed(x, True), rounds // 2)
