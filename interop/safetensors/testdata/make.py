"""Writes the files of this folder, with Python's safetensors 0.8.0 and NumPy 2.4.

    pip install safetensors numpy && python make.py
"""

import json
import pathlib

import numpy as np
from safetensors import TensorSpec, serialize
from safetensors.numpy import save_file

here = pathlib.Path(__file__).parent


def spec(dtype, shape, data):
    keep.append(np.frombuffer(data, np.uint8) if data else np.zeros(1, np.uint8))
    return TensorSpec(dtype=dtype, shape=shape, data_ptr=keep[-1].ctypes.data, data_len=len(data))


def of(a):
    a = np.ascontiguousarray(a)
    return spec(a.dtype.name, list(a.shape), a.tobytes())


keep = []

# Every type that gpk has. The numbers are exact in all of them.
numbers = np.array([[0, 1, 2], [3, 4, 100]])
all_types = {t: of(numbers.astype(t)) for t in ["float32", "float64", "float16", "int8", "uint8", "int32", "int64"]}
all_types["bool"] = of(numbers.astype(bool))
all_types["complex64"] = of((numbers + 1j * numbers[::-1]).astype(np.complex64))
bfloat16 = (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
all_types["bfloat16"] = spec("bfloat16", [2, 3], bfloat16.tobytes())
all_types["scalar"] = spec("float32", [], np.float32(2.5).tobytes())
all_types["empty"] = spec("float32", [3, 0, 2], b"")
all_types["empty vector"] = spec("int64", [0], b"")
all_types["five axes"] = of(np.arange(6, dtype=np.int32).reshape(1, 2, 1, 3, 1))
all_types["é \"\\/\n\t\x01\x7f \u2028 <&> 世 😀"] = of(np.array([7], np.uint8))
(here / "types.safetensors").write_bytes(serialize(all_types, {"format": "é \"\\\n<&>"}))

# Types that gpk lacks, mixed with some that it has.
other = {
    "I16": of(numbers.astype(np.int16)),
    "U16": of(numbers.astype(np.uint16)),
    "U32": of(numbers.astype(np.uint32)),
    "U64": of(numbers.astype(np.uint64)),
    "F8_E4M3": spec("float8_e4m3fn", [2], b"\x01\x02"),
    "F8_E5M2": spec("float8_e5m2", [2], b"\x01\x02"),
    "F8_E8M0": spec("float8_e8m0fnu", [2], b"\x01\x02"),
    "F8_E4M3FNUZ": spec("float8_e4m3fnuz", [2], b"\x01\x02"),
    "F8_E5M2FNUZ": spec("float8_e5m2fnuz", [2], b"\x01\x02"),
    "F4": spec("float4_e2m1fn_x2", [2], b"\x01\x02"),
    "I64": of(numbers.astype(np.int64)),
    "BOOL": of(numbers.astype(bool)),
}
(here / "other.safetensors").write_bytes(serialize(other))

(here / "none.safetensors").write_bytes(serialize({}))

# A folder with one file, and one with two and an index, as models are published.
save_file({"w": np.arange(6, dtype=np.float32).reshape(2, 3)}, here / "model" / "model.safetensors")
shards = {
    "model-00001-of-00002.safetensors": {"a.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "a.bias": np.arange(3, dtype=np.float16)},
    "model-00002-of-00002.safetensors": {"b.weight": np.arange(4, dtype=np.int64)},
}
for name, tensors in shards.items():
    save_file(tensors, here / "sharded" / name, {"format": "pt", "file": name})
index = {
    "metadata": {"total_size": sum(t.nbytes for ts in shards.values() for t in ts.values()), "total_parameters": 13},
    "weight_map": {t: name for name, ts in shards.items() for t in ts},
}
(here / "sharded" / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
