"""Slot numbers are computed from positions, but the column of the block table is not checked against its width."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def slots(positions, block_table, out, tokens, BLOCK: tl.constexpr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    position = tl.load(positions + at, mask=at < tokens, other=0)
    block = tl.load(block_table + position // BLOCK, mask=at < tokens, other=0)  # ACCESS
    tl.store(out + at, block * BLOCK + position % BLOCK, mask=at < tokens)


positions = torch.arange(100, device="cuda")
block_table = torch.zeros(8 << 20, dtype=torch.int32, device="cuda")  # ALLOC
out = torch.zeros(100, dtype=torch.int64, device="cuda")
or_skip(lambda: (slots[(1,)](positions, block_table, out, 100, BLOCK=16, SIZE=128), torch.cuda.synchronize()))
positions[64] = 1 << 36
slots[(1,)](positions, block_table, out, 100, BLOCK=16, SIZE=128)  # LAUNCH
torch.cuda.synchronize()
