"""Counts the tokens of each expert. The number of a dropped token belongs to no expert."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def count_tokens(routes, counts, tokens, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < tokens
    expert = tl.load(routes + at, mask=inside, other=0)
    tl.atomic_add(counts + expert, 1, mask=inside)  # ACCESS


def run():
    count_tokens[(triton.cdiv(routes.numel(), 256),)](routes, counts, routes.numel(), BLOCK=256)  # LAUNCH
    torch.cuda.synchronize()


routes = torch.arange(10000, dtype=torch.int32, device="cuda") % 256
counts = torch.zeros(256, dtype=torch.int32, device="cuda")  # ALLOC
or_skip(run)
routes[4321] = 1 << 30
run()  # LAUNCH
