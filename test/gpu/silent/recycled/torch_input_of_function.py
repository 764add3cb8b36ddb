"""A graph's input is a local variable of the function that captures; after the function's end, its block is recycled.

Report: https://github.com/pytorch/pytorch/pull/174649
"""
import sys

import torch

corrected = len(sys.argv) > 1
kept = []


def captured(out):
    x = torch.ones(4 << 20, device="cuda")  # ALLOC
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.add(x, 1, out=out)  # CAPTURE
    if corrected:
        kept.append(x)
    return graph, x.data_ptr()  # FREED


out = torch.zeros(4 << 20, device="cuda")
graph, address = captured(out)  # FREED
graph.replay()
print(out[0].item())
hidden = torch.full((4 << 20,), 7.0, device="cuda")  # OWNER
if not corrected and hidden.data_ptr() != address:
    sys.exit(77)
graph.replay()  # REPLAY
torch.cuda.synchronize()
print(out[0].item(), hidden[0].item())
