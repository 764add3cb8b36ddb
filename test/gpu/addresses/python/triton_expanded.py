"""An expanded tensor has memory for one row, but the kernel assumes memory for its whole length."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def row_sums(x, out, SIZE: tl.constexpr):
    row = tl.program_id(0)
    values = tl.load(x + row.to(tl.int64) * SIZE + tl.arange(0, SIZE))  # ACCESS
    tl.store(out + row, tl.sum(values))


bias = torch.ones(1024, device="cuda")  # ALLOC
x = bias.expand(1 << 20, 1024)
out = torch.empty(1 << 20, device="cuda")
or_skip(lambda: (row_sums[(1,)](x, out, SIZE=1024), torch.cuda.synchronize()))
row_sums[(x.shape[0],)](x, out, SIZE=1024)  # LAUNCH
torch.cuda.synchronize()
