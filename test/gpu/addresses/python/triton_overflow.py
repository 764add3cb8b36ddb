"""The row number times the pitch does not fit in 32 bits, and becomes negative."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def mark(table, pitch, COLUMNS: tl.constexpr):
    row = tl.program_id(0)
    tl.store(table + row * pitch + tl.arange(0, COLUMNS), 1)  # ACCESS


table = torch.empty(40000, 65536, dtype=torch.int8, device="cuda")  # ALLOC
or_skip(lambda: (mark[(100,)](table, table.stride(0), COLUMNS=256), torch.cuda.synchronize()))
mark[(40000,)](table, table.stride(0), COLUMNS=256)  # LAUNCH
torch.cuda.synchronize()
