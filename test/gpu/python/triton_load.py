"""A Triton kernel that loads far outside its tensor."""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def read_far(x, y, offset, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + offset + i))


x = torch.zeros(1 << 20, device="cuda")
y = torch.empty_like(x)
try:
    read_far[(1,)](x, y, 64, BLOCK=128)
    torch.cuda.synchronize()
except Exception as e:
    print("Triton does not work here:", e, file=sys.stderr)
    sys.exit(77)
read_far[(1,)](x, y, 1 << 40, BLOCK=128)  # TRUE LINE
z = y * 2
print(z.sum().item())  # BLAMED
