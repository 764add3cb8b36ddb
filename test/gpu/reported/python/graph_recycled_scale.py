"""A captured kernel reads a scale that was not kept; its block belongs to another tensor now, and results are wrong."""
import sys

import torch
import triton
import triton.language as tl

from here import needs_same_address, or_skip


@triton.jit
def rescale(x, scale, out, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(out + at, tl.load(x + at) * tl.load(scale + at))  # ACCESS


def captured(x, scale, out):
    wide = scale.float()  # ALLOC
    or_skip(lambda: (rescale[(1024,)](x, wide, out, SIZE=1024), torch.cuda.synchronize()))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        rescale[(1024,)](x, wide, out, SIZE=1024)  # LAUNCH
    return graph, wide.data_ptr()  # FREED


x = torch.ones(1 << 20, device="cuda")
scale = torch.full((1 << 20,), 2.0, dtype=torch.float16, device="cuda")
out = torch.zeros(1 << 20, device="cuda")
graph, address = captured(x, scale, out)
graph.replay()
torch.cuda.synchronize()
noise = torch.zeros(1 << 20, device="cuda")
needs_same_address(address, noise.data_ptr())
graph.replay()  # LAUNCH
torch.cuda.synchronize()
if not bool((out == 2).all()):
    sys.exit("the result is not two")
