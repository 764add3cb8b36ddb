"""A kernel gets an alias of a parameter whose storage was resized to zero bytes; its address is null now."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def decay(x, out, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets) * 0.9)  # ACCESS


def run(x):
    decay[(x.numel() // 1024,)](x, out, BLOCK=1024)  # LAUNCH
    torch.cuda.synchronize()


out = torch.empty(1 << 24, device="cuda")
parameter = torch.nn.Parameter(torch.ones(1 << 24, device="cuda"))
alias = parameter.detach()
or_skip(lambda: run(alias))
parameter.untyped_storage().resize_(0)
run(alias)
