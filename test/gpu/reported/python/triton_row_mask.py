"""Each program normalizes eight rows; the mask is for the columns only, and the matrix has five rows."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def row_means(x, out, columns, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    mask = column[None, :] < columns
    values = tl.load(x + row[:, None] * stride + column[None, :], mask=mask, other=0)  # ACCESS
    tl.store(out + row, tl.sum(values, axis=1) / columns)


def run(x, columns):
    row_means[(triton.cdiv(x.shape[0], 8),)](x, out, columns, x.stride(0), ROWS=8, COLUMNS=1024)  # LAUNCH
    torch.cuda.synchronize()


out = torch.zeros(64, device="cuda")
small = torch.ones(8, 1024, device="cuda")
wide = torch.ones(5, 256 << 20, device="cuda")  # ALLOC
or_skip(lambda: run(small, 1000))
run(wide, 1000)  # LAUNCH
