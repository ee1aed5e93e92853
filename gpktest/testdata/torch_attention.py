"""PyTorch's attention of the problems that TestTorchAttention writes into a folder.

    python3 torch_attention.py DIR cpu|cuda

DIR/problems.json lists them: a type, the shapes of the queries and of the keys, and whether they are causal. DIR/I.q, I.k
and I.v hold the operands of problem I as float32, and DIR/I.out becomes the result. PyTorch chooses the kernel, except
where float32 operands are multiplied in TF32: of its kernels, the plain composition alone does that.
"""
import contextlib, json, pathlib, sys

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

folder, device = pathlib.Path(sys.argv[1]), sys.argv[2]
types = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
print(f"PyTorch {torch.__version__}", torch.cuda.get_device_name() if device == "cuda" else "on the CPU")
for i, p in enumerate(json.loads((folder / "problems.json").read_text())):
    def load(name, shape):
        return torch.from_numpy(np.fromfile(folder / f"{i}.{name}", np.float32).reshape(shape)).to(device, types[p["Type"]])
    q, k, v = load("q", p["Queries"]), load("k", p["Keys"]), load("v", p["Keys"])
    tf32 = torch.backends.cuda.matmul.allow_tf32 = p["Type"] == "tf32"
    with sdpa_kernel(SDPBackend.MATH) if tf32 else contextlib.nullcontext():
        out = F.scaled_dot_product_attention(q, k, v, is_causal=p["Causal"], enable_gqa=q.shape[1] != k.shape[1])
    out.float().cpu().numpy().tofile(folder / f"{i}.out")
