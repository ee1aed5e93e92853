"""PyTorch measured on the cases of gpk's suites index and einsum, under the same names.

    python3 index_bench.py --suite index,einsum >> torch.txt

Inputs are standard normal, indices uniform. Times are the clock of torch_bench.py. A scatter_add is
index_add (atomic additions, whose order differs from run to run), out of place as gpk's is.
"""
import argparse
import torch
from torch_bench import DEV, clock, emit

INDEX = [("index_select", 1 << 20, 1 << 20, 64), ("index_select", 1 << 24, 1 << 20, 1), ("gather", 1 << 16, 1 << 16, 512),
         ("scatter_add", 1 << 20, 1 << 16, 64), ("scatter_add", 1 << 24, 1 << 16, 1), ("unique", 1 << 24, 1 << 16, 1), ("unique_all", 1 << 24, 1 << 16, 1),
         ("cumsum", 1, 1, 1 << 26)]
EINSUM = [("ij,jk->ik", dict(i=4096, j=4096, k=4096)), ("ij,kj->ik", dict(i=4096, j=4096, k=4096)), ("bij,bjk->bik", dict(b=64, i=512, j=512, k=512)),
          ("bhqd,bhkd->bhqk", dict(b=8, h=16, q=1024, k=1024, d=64)), ("bhqk,bhkd->bhqd", dict(b=8, h=16, q=1024, k=1024, d=64)),
          ("bqhd,bkhd->bhqk", dict(b=8, h=16, q=1024, k=1024, d=64)), ("ijk,jkl->il", dict(i=2048, j=64, k=64, l=2048)),
          ("ab,bc,cd->ad", dict(a=4096, b=64, c=4096, d=64)), ("bd,de,be->b", dict(b=4096, d=1024, e=1024)), ("i,j->ij", dict(i=8192, j=8192))]


def index():
    for op, n, rows, cols in INDEX:
        x = torch.randn(rows, cols, device=DEV)
        i = torch.randint(cols if op == "gather" else rows, (n, cols) if op == "gather" else (n,), device=DEV)
        y = torch.randn(n, cols, device=DEV) if op == "scatter_add" else None
        f = {"index_select": lambda: torch.index_select(x, 0, i), "gather": lambda: torch.gather(x, 1, i), "scatter_add": lambda: torch.index_add(x, 0, i, y),
             "unique": lambda: torch.unique(i), "unique_all": lambda: torch.unique(i, return_inverse=True, return_counts=True),
             "cumsum": lambda: torch.cumsum(x, 1)}[op]
        emit(f"Index/op={op}/dtype=fp32/n={n}/rows={rows}/cols={cols}", clock(f))
        del x, i, y
        torch.cuda.empty_cache()


def einsum():
    for eq, extents in EINSUM:
        ins = [torch.randn([extents[i] for i in term], device=DEV, dtype=torch.bfloat16) for term in eq.split("->")[0].split(",")]
        emit(f"Einsum/dtype=bf16/eq={eq}", clock(lambda: torch.einsum(eq, *ins)))
        del ins
        torch.cuda.empty_cache()


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--suite", default="index,einsum")
    torch.manual_seed(1)
    print(f"gpu: {torch.cuda.get_device_name()}\n# torch {torch.__version__}, CUDA {torch.version.cuda}", flush=True)
    for suite in p.parse_args().suite.split(","):
        {"index": index, "einsum": einsum}[suite]()
