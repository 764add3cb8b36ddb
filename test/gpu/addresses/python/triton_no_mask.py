"""A Triton kernel without a mask, and a grid that is computed from the padded length."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def relu(x, BLOCK: tl.constexpr):
    at = x + tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(at, tl.maximum(tl.load(at), 0.0))  # ACCESS


x = torch.zeros(16 << 20, device="cuda")  # ALLOC
or_skip(lambda: (relu[(16,)](x, BLOCK=1024), torch.cuda.synchronize()))
padded = 1 << 31
relu[(padded // 1024,)](x, BLOCK=1024)  # LAUNCH
torch.cuda.synchronize()
