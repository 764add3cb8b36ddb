"""A captured gather is replayed with an index that is too large."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def gather(table, ids, out, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(out + at, tl.load(table + tl.load(ids + at)))  # ACCESS


table = torch.zeros(16 << 20, device="cuda")  # ALLOC
ids = torch.zeros(64, dtype=torch.int64, device="cuda")
out = torch.zeros(64, device="cuda")
or_skip(lambda: (gather[(1,)](table, ids, out, SIZE=64), torch.cuda.synchronize()))
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    gather[(1,)](table, ids, out, SIZE=64)  # LAUNCH
graph.replay()
ids[17] = 1 << 30
graph.replay()  # LAUNCH
torch.cuda.synchronize()
