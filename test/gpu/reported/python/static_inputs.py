"""Correct: a graph has static inputs, which are refilled; tensors around it die, and the cache is emptied."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def gather(table, ids, out, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(out + at, tl.load(table + tl.load(ids + at)))


table, out = torch.arange(1 << 20, device="cuda"), torch.zeros(256, dtype=torch.int64, device="cuda")
ids = torch.zeros(256, dtype=torch.int64, device="cuda")
or_skip(lambda: (gather[(1,)](table, ids, out, SIZE=256), torch.cuda.synchronize()))
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    gather[(1,)](table, ids, out, SIZE=256)
for _ in range(5):
    fresh = torch.randint(1 << 20, (256,), device="cuda")
    ids.copy_(fresh)
    expected = fresh.clone()
    del fresh
    torch.cuda.empty_cache()
    graph.replay()
    assert torch.equal(out, expected)
