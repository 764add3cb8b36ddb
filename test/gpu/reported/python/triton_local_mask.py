"""Blocks of heads: the mask compares the head within its block with the number of all heads."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def sums_of_heads(x, out, heads, stride, BLOCK_H: tl.constexpr, WIDTH: tl.constexpr):
    block = tl.program_id(0)
    first = x + block.to(tl.int64) * BLOCK_H * stride
    head = tl.arange(0, BLOCK_H)
    offsets = head[:, None].to(tl.int64) * stride + tl.arange(0, WIDTH)[None, :]
    values = tl.load(first + offsets, mask=(head < heads)[:, None], other=0)  # ACCESS
    tl.store(out + block * BLOCK_H + head, tl.sum(values, axis=1))


def run(x):
    heads = x.shape[0]
    sums_of_heads[(triton.cdiv(heads, 4),)](x, out, heads, x.stride(0), BLOCK_H=4, WIDTH=1024)  # LAUNCH
    torch.cuda.synchronize()


out = torch.zeros(64, device="cuda")
even = torch.ones(8, 1024, device="cuda")
odd = torch.ones(5, 256 << 20, device="cuda")  # ALLOC
or_skip(lambda: run(even))
run(odd)
