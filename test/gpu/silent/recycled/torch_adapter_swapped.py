"""An adapter's weights are swapped after the capture; the captured product reads the block of the old weights.

Report: https://github.com/NVIDIA/TensorRT-LLM/pull/14374
"""
import sys

import torch

corrected = len(sys.argv) > 1
adapters = {}
adapters["style"] = torch.full((4096, 1024), 0.5, device="cuda")  # ALLOC
address = adapters["style"].data_ptr()
x = torch.ones(256, 4096, device="cuda")
out = torch.zeros(256, 1024, device="cuda")
torch.mm(x, adapters["style"], out=out)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    torch.mm(x, adapters["style"], out=out)  # CAPTURE
graph.replay()
print(out[0, 0].item())
loaded = torch.full((4096, 1024), 0.25, device="cuda")
if corrected:
    adapters["style"].copy_(loaded)
else:
    adapters["style"] = loaded  # FREED
latents = torch.zeros((4096, 1024), device="cuda")  # OWNER
if not corrected and latents.data_ptr() != address:
    sys.exit(77)
for _ in range(2):
    graph.replay()  # REPLAY
torch.cuda.synchronize()
print(out[0, 0].item())
