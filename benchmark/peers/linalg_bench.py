"""PyTorch (cuFFT, cuSOLVER, MAGMA) measured on the cases of gpk's suites fft and linalg, under the same names.

    python3 linalg_bench.py --suite fft,linalg >> torch.txt

Inputs are standard normal; a positive definite matrix is G G^T / n + 1. Times are the clock of torch_bench.py.
"""
import argparse
import torch
from torch_bench import DEV, clock, emit, rotating

FFT = [("fft", "c64", 1, 1 << 24), ("fft", "c64", 4096, 4096), ("fft", "c64", 65536, 256), ("fft", "c64", 1024, 10007), ("ifft", "c64", 4096, 4096),
       ("fft2", "c64", 1, 4096), ("rfft", "fp32", 4096, 4096), ("irfft", "fp32", 4096, 4096), ("fft", "c128", 4096, 4096)]
LINALG = [("cholesky", "fp32", 1, 4096), ("cholesky", "fp32", 1, 16384), ("cholesky", "fp64", 1, 4096), ("cholesky", "fp64", 1, 16384),
          ("cholesky", "fp32", 10000, 32), ("positive", "fp64", 1, 20000), ("lu", "fp32", 1, 4096), ("qr", "fp32", 1, 4096),
          ("eigh", "fp32", 1, 1024), ("svd", "fp32", 1, 1024)]
TYPES = {"fp32": torch.float32, "fp64": torch.float64, "c64": torch.complex64, "c128": torch.complex128}


def fft():
    for op, dtype, batch, n in FFT:
        shape = {"fft2": (batch, n, n), "irfft": (batch, n // 2 + 1)}.get(op, (batch, n))
        T = torch.complex64 if op == "irfft" else TYPES[dtype]
        take = rotating(lambda: (torch.randn(shape, device=DEV, dtype=T),))
        f = {"fft": torch.fft.fft, "ifft": torch.fft.ifft, "fft2": torch.fft.fft2, "rfft": torch.fft.rfft, "irfft": lambda x: torch.fft.irfft(x, n)}[op]
        emit(f"FFT/op={op}/dtype={dtype}/batch={batch}/n={n}", clock(lambda: f(take()[0])))
        torch.cuda.empty_cache()


def linalg():
    torch.backends.cuda.matmul.allow_tf32 = False
    for op, dtype, batch, n in LINALG:
        a = torch.randn(batch, n, n, device=DEV, dtype=TYPES[dtype])
        if op not in ("lu", "qr", "svd"):
            a = a @ a.mT / n + torch.eye(n, device=DEV, dtype=TYPES[dtype])
        a = a[0] if batch == 1 else a
        b = torch.randn(n, 1, device=DEV, dtype=TYPES[dtype])
        f = {"cholesky": lambda: torch.linalg.cholesky(a), "positive": lambda: torch.cholesky_solve(b, torch.linalg.cholesky(a)), "lu": lambda: torch.linalg.lu_factor(a),
             "qr": lambda: torch.linalg.qr(a), "eigh": lambda: torch.linalg.eigh(a), "svd": lambda: torch.linalg.svd(a, full_matrices=False)}[op]
        emit(f"Linalg/op={op}/dtype={dtype}/batch={batch}/n={n}", clock(f))
        del a, b
        torch.cuda.empty_cache()


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--suite", default="fft,linalg")
    torch.manual_seed(1)
    print(f"gpu: {torch.cuda.get_device_name()}\n# torch {torch.__version__}, CUDA {torch.version.cuda}", flush=True)
    for suite in p.parse_args().suite.split(","):
        {"fft": fft, "linalg": linalg}[suite]()
