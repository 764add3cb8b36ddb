"""A Triton kernel masks its store but not its load: the last program reads past the end of the input.

Report: https://github.com/flagos-ai/FlagGems/issues/5230
"""
import os
import sys

os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"  # each tensor is a separate allocation

import torch
import triton
import triton.language as tl


@triton.jit
def bucketize(values, out, count, MASKED: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if MASKED:
        value = tl.load(values + at, mask=at < count)
    else:
        value = tl.load(values + at)  # ACCESS
    tl.store(out + at, (value > 3.5).to(tl.int32), mask=at < count)


corrected = len(sys.argv) > 1
values = torch.arange(5000, dtype=torch.float32, device="cuda")  # ALLOC
out = torch.empty(5000, dtype=torch.int32, device="cuda")
bucketize[(5,)](values, out, 5000, MASKED=corrected, BLOCK=1024)  # OUT
torch.cuda.synchronize()
print(out.sum().item())
