"""The row and column strides of a matrix are swapped in the call."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def row_sums(x, out, row_stride, column_stride, COLUMNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, COLUMNS).to(tl.int64)
    values = tl.load(x + row * row_stride + columns * column_stride)  # ACCESS
    tl.store(out + row, tl.sum(values))


x = torch.zeros(64, 1 << 20, device="cuda").t()  # ALLOC
out = torch.zeros(1 << 20, device="cuda")
or_skip(lambda: (row_sums[(1 << 20,)](x, out, x.stride(0), x.stride(1), COLUMNS=64), torch.cuda.synchronize()))
row_sums[(1 << 20,)](x, out, x.stride(1), x.stride(0), COLUMNS=64)  # LAUNCH
torch.cuda.synchronize()
