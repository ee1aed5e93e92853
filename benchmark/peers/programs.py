"""NumPy twins of the programs that gpk's suite `programs` measures, under the same names.

    python3 programs.py --threads 2 > numpy.txt      # OpenBLAS is told before NumPy loads it

Both sides make the same inputs (uniforms). Each line has the Euclidean norms of the program's results, which gpk's
benchmark compares with its own. Needs NumPy 2, and SciPy for erf, which NumPy lacks.
"""
import argparse, os, tempfile, time

p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
p.add_argument("--threads", type=int, default=1)
p.add_argument("--size", type=int, default=0, help="the largest dimension of every program instead of its own")
p.add_argument("--programs", default="", help="names, by commas")
p.add_argument("--norms", action="store_true", help="the norms of the results only, without times")
args = p.parse_args()
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(args.threads)
import numpy as np

F32, F64 = np.float32, np.float64


def uniforms(stream, n):
    """Returns n numbers in [0, 1) that float32 holds exactly. Number i is made from the output of splitmix64 at state 2^32 stream + i."""
    z = (np.arange(n, dtype=np.uint64) + np.uint64((stream << 32) + 1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(40)).astype(F64) / (1 << 24)


def centred(stream, *shape): return (2 * uniforms(stream, int(np.prod(shape))) - 1).reshape(shape)


# A program is a function of its size and type. It makes the inputs and returns its name, the names of its results, and
# what computes these.

def kmeans(n, T):
    dim, clusters, iterations = 64, 32, 10
    x = (centred(1, clusters, dim)[np.arange(n) % clusters] + 0.5 * centred(2, n, dim)).astype(T)
    def run():
        centres, labels = x[:clusters], np.arange(clusters)
        for _ in range(iterations):
            distances = np.square(centres).sum(1) - 2 * (x @ centres.T)
            nearest = distances.argmin(1)
            member = (nearest[:, None] == labels).astype(T)
            counts = member.sum(0)
            centres = member.T @ x / counts[:, None]
        return centres, counts
    return f"points={n}/dim={dim}/centres={clusters}/iterations={iterations}", ("centres", "counts"), run


def jacobi(n, T):
    iterations, f = 1000, uniforms(1, n * n).reshape(n, n).astype(T)
    def run():
        u, v = np.zeros((n, n), T), np.zeros((n, n), T)
        for _ in range(iterations):
            v[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + f[1:-1, 1:-1]) * 0.25
            u, v = v, u
        return u,
    return f"side={n}/iterations={iterations}", ("u",), run


def conjugate_gradients(n, T):
    iterations, m = min(100, n), centred(1, n, n)
    a = (m + m.T) / 256
    np.fill_diagonal(a, 1 + 999 * np.arange(n) / n)
    a, b = a.astype(T), centred(2, n).astype(T)
    def run():
        x, r, p = np.zeros(n, T), b, b
        rr = r @ r
        for _ in range(iterations):
            ap = a @ p
            alpha = rr / (p @ ap)
            x = x + alpha * p
            r = r - alpha * ap
            new = r @ r
            p = r + (new / rr) * p
            rr = new
        return x,
    return f"n={n}/iterations={iterations}", ("x",), run


def mlp(n, T):
    nin, hidden, out, steps, rate = 64, 128, 10, 300, 0.125
    x, y = centred(1, n, nin).astype(T), np.eye(out, dtype=T)[np.arange(n) % out]
    start1, start2 = (centred(2, nin, hidden) / 8).astype(T), (centred(3, hidden, out) / 8).astype(T)
    def run():
        w1, w2, b1, b2 = start1, start2, np.zeros(hidden, T), np.zeros(out, T)
        for _ in range(steps):
            h = np.maximum(x @ w1 + b1, 0)
            z = h @ w2 + b2
            e = np.exp(z - z.max(1, keepdims=True))
            d = (e / e.sum(1, keepdims=True) - y) / n
            dh = d @ w2.T * (h > 0)
            w2 = w2 - h.T @ d * rate
            b2 = b2 - d.sum(0) * rate
            w1 = w1 - x.T @ dh * rate
            b1 = b1 - dh.sum(0) * rate
        return np.maximum(x @ w1 + b1, 0) @ w2 + b2, w1
    return f"batch={n}/in={nin}/hidden={hidden}/out={out}/steps={steps}", ("logits", "weights"), run


def attention(n, T):
    b, h, d = 2, 8, 64
    q, k, v = (centred(i, b, h, n, d).astype(T) for i in (1, 2, 3))
    def run():
        seen = np.arange(n) <= np.arange(n)[:, None]
        scores = np.where(seen, q @ k.swapaxes(-1, -2) * T(d ** -0.5), T(-np.inf))
        e = np.exp(scores - scores.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True) @ v,
    return f"b={b}/h={h}/s={n}/d={d}", ("out",), run


def topk(n, T):
    dim, queries, top = 256, 32, 5
    x, q = centred(1, n, dim).astype(T), centred(2, queries, dim).astype(T)
    def run():
        scores = q @ x.T
        some = np.argpartition(-scores, top, 1)[:, :top]
        found = np.take_along_axis(scores, some, 1)
        order = np.argsort(-found, 1)
        return np.take_along_axis(found, order, 1), np.take_along_axis(some, order, 1)
    return f"rows={n}/dim={dim}/queries={queries}/k={top}", ("scores", "items"), run


def black_scholes(n, T):
    from scipy.special import erf
    rate, volatility = 0.03125, 0.25
    s, k, t = (64 + 64 * uniforms(1, n)).astype(T), (64 + 64 * uniforms(2, n)).astype(T), (0.25 + 2 * uniforms(3, n)).astype(T)
    def below(x): return (erf(x * (2 ** 0.5 / 2)) + 1) * 0.5
    def run():
        spread = np.sqrt(t) * volatility
        d1 = (np.log(s / k) + t * (rate + volatility * volatility / 2)) / spread
        d2 = d1 - spread
        worth = k * np.exp(t * -rate)
        call = s * below(d1) - worth * below(d2)
        return call, call - s + worth
    return f"options={n}", ("call", "put"), run


def logistic_regression(n, T):
    dim, steps, rate = 64, 100, 0.5
    rows = centred(1, n, dim)
    x, y = rows.astype(T), (rows @ centred(2, dim) > 0).astype(T)
    def run():
        w = np.zeros(dim, T)
        for _ in range(steps):
            residual = 1 / (1 + np.exp(-(x @ w))) - y
            w = w - x.T @ residual * (rate / n)
        return w,
    return f"rows={n}/dim={dim}/steps={steps}", ("weights",), run


def kmeans_scatter(n, T):
    dim, clusters, iterations = 64, 32, 10
    x = (centred(1, clusters, dim)[np.arange(n) % clusters] + 0.5 * centred(2, n, dim)).astype(T)
    def run():
        centres = x[:clusters]
        for _ in range(iterations):
            distances = np.square(centres).sum(1) - 2 * (x @ centres.T)
            nearest = distances.argmin(1)
            sums = np.zeros((clusters, dim), T)
            np.add.at(sums, nearest, x)
            counts = np.bincount(nearest, minlength=clusters)
            centres = sums / counts.astype(T)[:, None]
        return centres, counts
    return f"points={n}/dim={dim}/centres={clusters}/iterations={iterations}", ("centres", "counts"), run


def pca(n, T):
    dim, top = 64, 8
    x = (centred(1, n, dim) / (1 + np.arange(dim)) + centred(2, dim)).astype(T)
    def run():
        mean = x.mean(0)
        u, s, vh = np.linalg.svd(x - mean, full_matrices=False)
        u, s, vh = u[:, :top], s[:top], vh[:top]
        return np.square(s) / (n - 1), (u * s) @ vh + mean
    return f"rows={n}/dim={dim}/components={top}", ("variances", "denoised"), run


def convolution(n, T):
    images, channels, filters, side = 8, 16, 32, 3
    x, w = centred(1, images, channels, n, n).astype(T), centred(2, filters, channels, side, side).astype(T)
    def run():
        windows = np.lib.stride_tricks.sliding_window_view(x, (side, side), (2, 3))
        columns = windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, channels * side * side)
        out = columns @ w.reshape(filters, -1).T
        return out.reshape(images, n - side + 1, n - side + 1, filters).transpose(0, 3, 1, 2),
    return f"images={images}/channels={channels}/side={n}/filters={filters}/window={side}", ("out",), run


def einsum_attention(n, T):
    b, h, d = 2, 8, 64
    q, k, v = (centred(i, b, h, n, d).astype(T) for i in (1, 2, 3))
    def run():
        scores = np.einsum("bhqd,bhkd->bhqk", q, k, optimize=True) * T(d ** -0.5)
        scores = np.where(np.tri(n, dtype=bool), scores, T(-np.inf))
        e = np.exp(scores - scores.max(-1, keepdims=True))
        return np.einsum("bhqk,bhkd->bhqd", e / e.sum(-1, keepdims=True), v, optimize=True),
    return f"b={b}/h={h}/s={n}/d={d}", ("out",), run


def statistics(n, T):
    columns, bins, file = 8, 64, tempfile.NamedTemporaryFile(suffix=".npy")
    x = centred(1, n, columns)
    np.save(file, (x * x * x).astype(T))
    file.flush()
    def run():
        x = np.load(file.name)
        moments = np.stack([x.mean(0), x.std(0), x.min(0), x.max(0)])
        quartiles = np.quantile(x, [0.25, 0.5, 0.75], 0)
        counts, _ = np.histogram(x, bins, (-1, 1))
        return moments, quartiles, counts
    return f"rows={n}/columns={columns}/bins={bins}", ("moments", "quartiles", "counts"), run


def spectral_power(n, T):
    frame, hop = 1024, 512
    x = centred(1, (n - 1) * hop + frame).astype(T)
    def run():
        taper = 0.5 - 0.5 * np.cos(np.arange(frame, dtype=T) * (2 * np.pi / frame))
        frames = np.lib.stride_tricks.sliding_window_view(x, frame)[::hop]
        spectrum = np.fft.rfft(frames * taper)
        return np.square(np.abs(spectrum)).mean(0) / np.square(taper).sum(),
    return f"frames={n}/frame={frame}/hop={hop}", ("power",), run


def ridge_regression(n, T):
    dim, penalty = 512, 0.5
    x, noise = centred(1, n, dim), centred(2, n)
    x, y = x.astype(T), (x[:, 0] - x[:, 1] + noise).astype(T)
    def run():
        gram = x.T @ x + penalty * np.eye(dim, dtype=T)
        return np.linalg.solve(gram, x.T @ y),
    return f"rows={n}/dim={dim}", ("weights",), run


PROGRAMS = ((kmeans, 50000, (F32,)), (jacobi, 256, (F32,)), (conjugate_gradients, 2048, (F64,)), (mlp, 256, (F32,)), (attention, 256, (F32,)),
            (topk, 100000, (F32,)), (black_scholes, 4 << 20, (F32, F64)), (logistic_regression, 50000, (F32,)),
            (kmeans_scatter, 50000, (F32,)), (pca, 20000, (F32,)), (convolution, 64, (F32,)), (einsum_attention, 256, (F32,)),
            (statistics, 1 << 17, (F32,)), (spectral_power, 2048, (F32,)), (ridge_regression, 8192, (F64,)))


def clock(fn):
    """Median seconds of one fn() over seven samples."""
    fn(); t = time.perf_counter(); fn(); once = max(time.perf_counter() - t, 1e-7)
    inner = max(1, int(0.25 / 7 / once)); out = []
    for _ in range(7):
        t = time.perf_counter()
        for _ in range(inner): fn()
        out.append((time.perf_counter() - t) / inner)
    return sorted(out)[3]


print(f"pkg: numpy {np.__version__}\nthreads: {args.threads}")
for program, size, types in PROGRAMS:
    if args.programs and program.__name__ not in args.programs.split(","): continue
    for T in types:
        shape, names, run = program(args.size or size, T)
        took = "" if args.norms else f"\t{clock(run) * 1e9:.1f} ns/op"
        norms = "".join(f"\t{np.linalg.norm(r.astype(F64)):.17g} norm-{name}" for name, r in zip(names, run()))
        print(f"BenchmarkProgram/name={program.__name__}/dtype={'fp32' if T == F32 else 'fp64'}/{shape}\t1{took}{norms}", flush=True)
