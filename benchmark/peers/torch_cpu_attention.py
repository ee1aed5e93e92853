"""PyTorch's attention on a CPU, on the cases of gpk's suite `attention` with -sizes, in float32.

    OMP_NUM_THREADS=2 python3 torch_cpu_attention.py --size 512 > torch.txt
    GPK_DEVICE=cpu GOMAXPROCS=2 benchmark -suite attention -dtypes fp32 -sizes 512 -format go > gpk.txt

Each time is the median of five calls, after one call to warm up. Alternate the two programs and compare medians.
"""
import argparse, time
import torch
import torch.nn.functional as F

p = argparse.ArgumentParser(description=__doc__.splitlines()[0]); p.add_argument("--size", type=int, default=512)
n = p.parse_args().size
print(f"pkg: torch {torch.__version__} cpu, {torch.get_num_threads()} threads")
for b, h, kv, s, d, causal in ((4, 32, 32, n, 128, True), (16, 12, 12, n, 64, False), (1, 32, 32, n, 128, True), (1, 32, 8, 1, 128, False), (64, 32, 8, 1, 128, False)):
    q, k, v = torch.randn(b, h, s, d), torch.randn(b, kv, n, d), torch.randn(b, kv, n, d)
    times = []
    with torch.inference_mode():
        for _ in range(6):
            t = time.perf_counter(); F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=h != kv); times.append(time.perf_counter() - t)
    name = f"b={b}/h={h}/s={s}/d={d}" if s > 1 else f"b={b}/h={h}/kv={kv}/s={s}/keys={n}/d={d}"
    print(f"BenchmarkAttention/dtype=fp32/{name}/causal={str(causal).lower()}\t1\t{sorted(times[1:])[2] * 1e9:.1f} ns/op", flush=True)
