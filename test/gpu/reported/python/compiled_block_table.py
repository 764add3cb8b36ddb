"""A kernel of a compiled step reads a block number that an earlier kernel of the same step computed wrongly."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def write_cache(cache, blocks, values, BLOCK: tl.constexpr):
    block = tl.load(blocks + tl.program_id(0))
    at = tl.arange(0, BLOCK)
    tl.store(cache + block * BLOCK + at, tl.load(values + at))  # ACCESS


@torch.compile
def step(cache, positions, values):
    blocks = torch.where(positions >= 0, positions // 16, positions << 24)
    write_cache[(positions.numel(),)](cache, blocks, values, BLOCK=1024)  # LAUNCH
    return cache.narrow(0, 0, 1024) + 1


cache = torch.zeros(64 << 20, device="cuda")  # ALLOC
positions = torch.arange(512, device="cuda")
values = torch.ones(1024, device="cuda")
or_skip(lambda: (step(cache, positions, values), torch.cuda.synchronize()))
positions[200] = -1
step(cache, positions, values)  # LAUNCH
torch.cuda.synchronize()
