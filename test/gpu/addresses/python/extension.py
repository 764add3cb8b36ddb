"""An extension without a mask (null, which is allowed) and with a row outside the tensor: extension.py LIBRARY"""
import ctypes
import sys

import torch

from here import or_skip

library = ctypes.CDLL(sys.argv[1])
library.pool.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int] * 2


def pool(x, rows, mask=None):
    out = torch.zeros(x.shape[1], device="cuda")
    addresses = (t.data_ptr() if t is not None else None for t in (x, mask, rows, out))
    library.pool(*addresses, len(rows), x.shape[1])
    return out


x = torch.ones(1 << 15, 512, device="cuda")  # ALLOC
rows = torch.arange(8, device="cuda")
or_skip(lambda: (pool(x, rows), torch.cuda.synchronize()))
rows[6] = 1 << 22
pool(x, rows)
torch.cuda.synchronize()
