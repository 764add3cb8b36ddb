"""A captured kernel uses the address of a tensor that was not kept."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def add(state, weights, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(state + at, tl.load(state + at) + tl.load(weights + at))  # ACCESS


state = torch.zeros(1024, device="cuda")
weights = torch.ones(64 << 20, device="cuda")  # ALLOC
or_skip(lambda: (add[(1,)](state, weights, SIZE=1024), torch.cuda.synchronize()))
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    add[(1,)](state, weights, SIZE=1024)  # LAUNCH
graph.replay()
torch.cuda.synchronize()
del weights  # FREED
torch.cuda.empty_cache()  # FREED
graph.replay()  # LAUNCH
torch.cuda.synchronize()
