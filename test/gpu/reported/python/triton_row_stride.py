"""The offset of a row is computed in 32 bits: row times stride becomes negative after 2 GiB."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def first_sums(x, out, stride, SIZE: tl.constexpr):
    row = tl.program_id(0)
    values = tl.load(x + row * stride + tl.arange(0, SIZE))  # ACCESS
    tl.store(out + row, tl.sum(values.to(tl.int32)))


def run(rows):
    first_sums[(rows,)](x, out, x.stride(0), SIZE=1024)  # LAUNCH
    torch.cuda.synchronize()


x = torch.zeros(40960, 65536, dtype=torch.int8, device="cuda")  # ALLOC
out = torch.zeros(40960, dtype=torch.int32, device="cuda")
or_skip(lambda: run(1024))
run(40960)  # LAUNCH
