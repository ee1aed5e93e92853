"""Exchanges tensors between gpk and NumPy, PyTorch or CuPy by DLPack.

    peers.py LIBRARY DEVICE PEER...

LIBRARY is testdata/shared, built with -buildmode=c-shared. Prints a line a peer, and
ends with an AssertionError where a number is wrong.
"""

import ctypes
import gc
import sys

lib = ctypes.CDLL(sys.argv[1])
device = sys.argv[2].encode()
lib.gpk_error.restype = ctypes.c_char_p
for name in ("gpk_make", "gpk_triple"):
    getattr(lib, name).restype = ctypes.c_void_p
lib.gpk_make.argtypes = [ctypes.c_char_p] + [ctypes.c_int] * 4
lib.gpk_triple.argtypes = lib.gpk_increment.argtypes = [ctypes.c_void_p, ctypes.c_int]
lib.gpk_increment.restype = ctypes.c_bool
lib.gpk_memory.argtypes = [ctypes.c_char_p, ctypes.c_bool]
lib.gpk_memory.restype = ctypes.c_int64

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

NAMES = (b"dltensor", b"dltensor_versioned")
USED = (b"used_dltensor", b"used_dltensor_versioned")  # kept: a capsule refers to its name


class Lent:
    """What gpk lends, for from_dlpack."""

    def __init__(self, pointer, versioned):
        assert pointer, lib.gpk_error().decode()
        self.pointer, self.versioned = pointer, versioned

    def __dlpack__(self, **options):
        return api.PyCapsule_New(self.pointer, NAMES[self.versioned], None)

    def __dlpack_device__(self):
        return (2, 0) if device.startswith(b"cuda") else (1, 0)


def lend(x, versioned):
    """The pointer of a library's tensor, whose capsule is used up."""
    capsule = x.__dlpack__(max_version=(1, 0)) if versioned else x.__dlpack__()
    pointer = api.PyCapsule_GetPointer(capsule, NAMES[versioned])
    api.PyCapsule_SetName(capsule, USED[versioned])
    return pointer


# gpk's numbers of its element types.
TYPES = {"float32": 1, "float64": 2, "float16": 3, "bfloat16": 4, "int8": 5, "uint8": 6, "int32": 7, "int64": 8, "complex64": 10, "complex128": 11,
         "int16": 12, "uint16": 13, "uint32": 14, "uint64": 15}


class NumPy:
    def __init__(self):
        import numpy

        self.np, self.version = numpy, numpy.__version__
        self.types = [t for t in TYPES if t != "bfloat16"]
        self.read = numpy.from_dlpack

    def arange(self, n, t):
        return self.np.arange(n).astype(t)

    def list(self, x):
        return x.tolist()


class CuPy(NumPy):
    def __init__(self):
        import cupy

        self.np, self.version = cupy, cupy.__version__
        self.types = [t for t in TYPES if t != "bfloat16"]
        self.read = cupy.from_dlpack


class PyTorch:
    def __init__(self):
        import torch

        self.torch, self.version = torch, torch.__version__
        self.types = list(TYPES)

    def read(self, lent):
        return self.torch.from_dlpack(lent)

    def arange(self, n, t):
        return self.torch.arange(n, device=device.decode()).to(getattr(self.torch, t))

    def list(self, x):
        return x.tolist()


def exchange(peer, t, versioned):
    rows, columns = 3, 5
    x = peer.read(Lent(lib.gpk_make(device, TYPES[t], rows, columns, versioned), versioned))
    assert tuple(x.shape) == (columns, rows), x.shape
    assert str(x.dtype).endswith(t), x.dtype
    assert peer.list(x) == [[j * columns + i for j in range(rows)] for i in range(columns)], x

    # gpk reads a strided view of the peer's memory, and the peer gpk's result.
    y = peer.arange(24, t).reshape(4, 6).T[1::2]
    z = peer.read(Lent(lib.gpk_triple(lend(y, versioned), versioned), versioned))
    assert peer.list(z) == [[3 * (6 * j + i) + 1 for j in range(4)] for i in (1, 3, 5)], z

    # gpk writes into the peer's memory.
    w = peer.arange(24, t).reshape(4, 6)
    assert not lib.gpk_increment(lend(w[:, 2:4], versioned), versioned), lib.gpk_error().decode()
    assert peer.list(w) == [[6 * j + i + (i in (2, 3)) for i in range(6)] for j in range(4)], w


for name in sys.argv[3:]:
    peer = {"numpy": NumPy, "torch": PyTorch, "cupy": CuPy}[name]()
    count = 0
    for versioned in (0, 1):
        if versioned:
            try:
                lend(peer.arange(1, "float32"), 1)
            except (TypeError, ValueError) as e:
                print(name, "has no versioned tensors:", e)
                continue
        for t in peer.types:
            exchange(peer, t, versioned)
            count += 1

    # 64 MiB that are lent and given back 100 times are not kept.
    gc.collect()
    before = lib.gpk_memory(device, False)
    for i in range(100):
        big = peer.read(Lent(lib.gpk_make(device, TYPES["float32"], 1 << 12, 1 << 12, 0), 0))
        assert float(big[1, 2]) == 2 * (1 << 12) + 1
        del big
    gc.collect()
    kept, exposed = lib.gpk_memory(device, False) - before, lib.gpk_memory(device, True)
    assert kept == 0 and exposed == 0, (kept, exposed)
    print(name, peer.version, device.decode(), count, "exchanges and 100 large ones: equal, nothing kept")
