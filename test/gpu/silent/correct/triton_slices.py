"""Two Triton kernels on two streams have a slice each, and each masks by its slice's length.

Pattern: https://github.com/flagos-ai/FlagGems/issues/5230 (corrected)
"""
import torch
import triton
import triton.language as tl


@triton.jit
def scale(values, count, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(values + at, mask=at < count)
    tl.store(values + at, value * factor, mask=at < count)


values = torch.ones(10_001, device="cuda")
left, right = torch.cuda.Stream(), torch.cuda.Stream()
torch.cuda.synchronize()
with torch.cuda.stream(left):
    scale[(5,)](values, 5000, 2.0, BLOCK=1024)
with torch.cuda.stream(right):
    scale[(5,)](values[5000:], 5001, 3.0, BLOCK=1024)
torch.cuda.synchronize()
print(values.sum().item())
