"""A captured gather reads ids that were not kept; their block now belongs to a tensor of large numbers."""
import torch
import triton
import triton.language as tl

from here import needs_same_address, or_skip


@triton.jit
def gather(table, ids, out, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(out + at, tl.load(table + tl.load(ids + at)))  # ACCESS


def captured(table, out):
    ids = torch.arange(1 << 20, device="cuda")
    or_skip(lambda: (gather[(1024,)](table, ids, out, SIZE=1024), torch.cuda.synchronize()))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        gather[(1024,)](table, ids, out, SIZE=1024)  # LAUNCH
    return graph, ids.data_ptr()  # FREED


table = torch.zeros(16 << 20, device="cuda")  # ALLOC
out = torch.zeros(1 << 20, device="cuda")
graph, address = captured(table, out)
timestamps = torch.full((1 << 20,), 17_000_000_000, device="cuda")
needs_same_address(address, timestamps.data_ptr())
graph.replay()  # LAUNCH
torch.cuda.synchronize()
