"""A captured kernel writes to a tensor that was not kept; its block is now a result, which a replay destroys."""
import sys

import torch
import triton
import triton.language as tl

from here import needs_same_address, or_skip


@triton.jit
def square(x, scratch, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    value = tl.load(x + at)
    tl.store(scratch + at, value * value)  # ACCESS


def captured(x):
    scratch = torch.empty(1 << 20, device="cuda")  # ALLOC
    or_skip(lambda: (square[(1024,)](x, scratch, SIZE=1024), torch.cuda.synchronize()))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        square[(1024,)](x, scratch, SIZE=1024)  # LAUNCH
    return graph, scratch.data_ptr()  # FREED


x = torch.full((1 << 20,), 3.0, device="cuda")
graph, address = captured(x)
result = torch.ones(1 << 20, device="cuda")
needs_same_address(address, result.data_ptr())
graph.replay()  # LAUNCH
torch.cuda.synchronize()
if not bool((result == 1).all()):
    sys.exit("the result is not one")
