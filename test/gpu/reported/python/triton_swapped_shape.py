"""The numbers of rows and columns are exchanged in a launch, so the kernel visits far too many rows."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def scale_rows(x, rows, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = (row < rows) & (at < columns)
    values = tl.load(x + row * stride + at, mask=mask)  # ACCESS
    tl.store(x + row * stride + at, values * 2, mask=mask)


def run(rows, columns):
    scale_rows[(rows,)](x, rows, columns, x.stride(0), BLOCK=512)  # LAUNCH
    torch.cuda.synchronize()


x = torch.zeros(512, 16384, device="cuda")  # ALLOC
or_skip(lambda: run(512, 512))
run(x.shape[1], x.shape[0])  # LAUNCH
