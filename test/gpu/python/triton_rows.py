"""Triton kernels with a wrong mask and with offsets that do not fit in 32 bits: triton_rows.py mask|overflow"""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def increment(x, pitch, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    inside = (row < rows) | (i < columns)
    at = x + row * pitch + i
    tl.store(at, tl.load(at, mask=inside) + 1, mask=inside)


def run(x, programs):
    increment[(programs,)](x, x.stride(0), x.shape[0], x.shape[1], BLOCK=128)  # TRUE LINE


try:
    run(torch.zeros(4, 128, dtype=torch.int8, device="cuda"), 4)
    torch.cuda.synchronize()
except Exception as e:
    print("Triton does not work here:", e, file=sys.stderr)
    sys.exit(77)
if sys.argv[1] == "mask":
    run(torch.zeros(4, 128, dtype=torch.int8, device="cuda"), 1 << 23)
else:
    wide = torch.empty(80000, 40000, dtype=torch.int8, device="cuda")
    run(wide, wide.shape[0])
torch.cuda.synchronize()  # BLAMED
