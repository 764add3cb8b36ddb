"""A captured kernel reads scales that were inverted for the capture only; another small tensor gets their block.

Related: https://github.com/vllm-project/vllm/issues/48941
"""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def rescale(rows, scales, out, WIDTH: tl.constexpr):
    at = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    tl.store(out + at, tl.load(rows + at) * tl.load(scales + tl.program_id(0)))


def captured(rows, scales, out):
    inverted = scales.reciprocal()  # ALLOC
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        rescale[(65536,)](rows, inverted, out, WIDTH=64)  # CAPTURE
    return graph, inverted.data_ptr(), inverted if corrected else None  # FREED


corrected = len(sys.argv) > 1
rows = torch.ones(65536, 64, device="cuda")
out = torch.empty_like(rows)
scales = torch.full((65536,), 4.0, device="cuda")
rescale[(65536,)](rows, scales, out, WIDTH=64)
torch.cuda.synchronize()
graph, address, kept = captured(rows, scales, out)  # FREED
limits = torch.full((65536,), 100.0, device="cuda")  # OWNER
if not corrected and limits.data_ptr() != address:
    sys.exit(77)
for _ in range(3):
    graph.replay()  # REPLAY
torch.cuda.synchronize()
print(out[5, 5].item())
