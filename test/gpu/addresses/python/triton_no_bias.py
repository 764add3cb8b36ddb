"""The bias is None by design; a position that was never set causes the failure."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def place(x, bias, positions, out, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, WIDTH)
    value = tl.load(x + row * WIDTH + columns)
    if bias is not None:
        value += tl.load(bias + columns)
    tl.store(out + tl.load(positions + row) * WIDTH + columns, value)  # ACCESS


x = torch.ones(8, 128, device="cuda")
out = torch.zeros(1 << 17, 128, device="cuda")  # ALLOC
positions = torch.arange(8, device="cuda")
or_skip(lambda: (place[(8,)](x, None, positions, out, WIDTH=128), torch.cuda.synchronize()))
positions[5] = 1 << 24
place[(8,)](x, None, positions, out, WIDTH=128)  # LAUNCH
torch.cuda.synchronize()
