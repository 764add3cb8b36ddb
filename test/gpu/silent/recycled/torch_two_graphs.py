"""One graph writes a tensor that another graph reads; the tensor is deleted, and both use the block of a new bias.

Related: https://github.com/pytorch/pytorch/pull/174649
"""
import sys

import torch

corrected = len(sys.argv) > 1
x = torch.ones(4 << 20, device="cuda")
out = torch.zeros(4 << 20, device="cuda")
middle = torch.zeros(4 << 20, device="cuda")  # ALLOC
address = middle.data_ptr()
first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
with torch.cuda.graph(first):
    torch.mul(x, 2, out=middle)  # CAPTURE
with torch.cuda.graph(second, pool=first.pool()):
    torch.add(middle, 1, out=out)  # CAPTURE
first.replay()
second.replay()
torch.cuda.synchronize()
if corrected:
    kept = middle
del middle  # FREED
bias = torch.full((4 << 20,), 0.125, device="cuda")  # OWNER
if not corrected and bias.data_ptr() != address:
    sys.exit(77)
first.replay()  # REPLAY
bias.add_(1)
second.replay()  # REPLAY
torch.cuda.synchronize()
print(out[0].item(), bias[0].item())
