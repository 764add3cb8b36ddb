"""A pinned tensor is captured as the source of a copy and goes out of scope; the next pinned tensor gets its memory.

Report: https://github.com/pytorch/pytorch/pull/161583
"""
import sys

import torch

corrected = len(sys.argv) > 1
kept = []
on_gpu = torch.zeros(4096, dtype=torch.int32, device="cuda")
found = torch.zeros(4096, dtype=torch.int32, device="cuda")
torch.cuda.synchronize()


def record():
    table = torch.arange(4096, dtype=torch.int32).pin_memory()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        on_gpu.copy_(table, non_blocking=True)  # CAPTURE
        torch.add(on_gpu, 1, out=found)
    if corrected:
        kept.append(table)
    return graph


graph = record()
torch.cuda.synchronize()
other = torch.full((4096,), 7, dtype=torch.int32).pin_memory()  # HOST
graph.replay()  # REPLAY
torch.cuda.synchronize()
print(found[100].item(), other[0].item())
