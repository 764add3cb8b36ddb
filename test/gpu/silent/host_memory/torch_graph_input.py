"""A captured copy takes its input from a pinned tensor. The next input is written while the replay is still queued.

Related: https://github.com/NVIDIA/TensorRT-LLM/pull/14128
"""
import sys

import torch

corrected = len(sys.argv) > 1
ids = torch.zeros(65536, dtype=torch.int32).pin_memory()
on_gpu = torch.zeros(65536, dtype=torch.int32, device="cuda")
hidden = torch.zeros(65536, device="cuda")
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    on_gpu.copy_(ids, non_blocking=True)  # CAPTURE
    torch.mul(on_gpu, 0.5, out=hidden)
torch.cuda._sleep(200_000_000)  # the previous step is still running
for step in range(3):
    if corrected:
        torch.cuda.synchronize()
    ids.fill_(1000 + step)  # HOST
    graph.replay()  # REPLAY
torch.cuda.synchronize()
print(hidden[0].item())
