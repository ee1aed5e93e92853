"""Python's safetensors with NumPy, on what interop/safetensors' own benchmarks measure, under the same names.

    python3 safetensors_bench.py > python.txt

64 tensors of 8 MiB in the page cache; every load takes fresh memory, as a program's first one does.
"""
import os, tempfile, time

import numpy as np
import safetensors
from safetensors.numpy import load_file, save_file

SIZE = 512 << 20
print(f"# safetensors {safetensors.__version__}, numpy {np.__version__}")


def clock(name, fn, rounds=12):
    t = time.perf_counter()
    for _ in range(rounds):
        fn()
    ns = (time.perf_counter() - t) / rounds * 1e9
    print(f"Benchmark{name}\t{rounds}\t{ns:.0f} ns/op\t{SIZE / ns * 1e3:.2f} MB/s", flush=True)


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "x.safetensors")
    save_file({chr(65 + i): np.ones((2048, 1024), np.float32) for i in range(64)}, path)
    with open(path, "r+b") as f:
        os.fsync(f.fileno())
    clock("LoadAll", lambda: load_file(path))
    src, dst = np.ones(SIZE, np.uint8), np.ones(SIZE, np.uint8)
    clock("Copy", lambda: np.copyto(dst, src))
