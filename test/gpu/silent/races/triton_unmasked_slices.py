"""Two Triton kernels on two streams have a slice each, but the first one masks by the length of the whole tensor.

Related: https://github.com/flagos-ai/FlagGems/issues/5230 (the last program's tail is not masked)
"""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def scale(values, count, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(values + at, mask=at < count)
    tl.store(values + at, value * factor, mask=at < count)


corrected = len(sys.argv) > 1
slice_length = 5000
values = torch.ones(2 * slice_length, device="cuda")
left, right = torch.cuda.Stream(), torch.cuda.Stream()
torch.cuda.synchronize()
with torch.cuda.stream(left):
    scale[(5,)](values, slice_length if corrected else len(values), 2.0, BLOCK=1024)  # FIRST
with torch.cuda.stream(right):
    scale[(5,)](values[slice_length:], slice_length, 3.0, BLOCK=1024)  # SECOND
torch.cuda.synchronize()
print(values.sum().item())
