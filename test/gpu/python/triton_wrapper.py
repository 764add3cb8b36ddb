"""A Triton kernel in a wrapper that users call like an operator."""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def shift(x, y, offset, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + offset + i, mask=i < n), mask=i < n)


def shifted(x, offset):
    y = torch.empty_like(x)
    grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)  # noqa: E731
    shift[grid](x, y, offset, x.numel(), BLOCK=128)  # TRUE LINE
    return y


x = torch.zeros(1 << 16, device="cuda")
try:
    shifted(x[:1024], 64)
    torch.cuda.synchronize()
except Exception as e:
    print("Triton does not work here:", e, file=sys.stderr)
    sys.exit(77)
y = shifted(x[:1024], 1 << 40)
z = y + 1
print(z.sum().item())  # BLAMED
