"""An embedding is offloaded, its memory is released, and a cache gets the address before the reloaded weights do.

Related: https://github.com/sgl-project/sglang/pull/27140
"""
import sys

import torch

corrected = len(sys.argv) > 1
model = torch.nn.Embedding(131072, 128, device="cuda")  # ALLOC
address = model.weight.data_ptr()
ids = torch.arange(1024, device="cuda")
with torch.no_grad():
    model.weight.fill_(3.0)
    model(ids)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(ids)  # CAPTURE
graph.replay()
torch.cuda.synchronize()
offloaded = model.weight.detach().cpu()
if not corrected:
    model.weight = None  # FREED
    torch.cuda.empty_cache()  # FREED
cache = torch.zeros(131072, 128, device="cuda")  # OWNER
if corrected:
    model.weight.data.copy_(offloaded)
elif cache.data_ptr() != address:
    sys.exit(77)
else:
    model.weight = torch.nn.Parameter(offloaded.cuda())
graph.replay()  # REPLAY
torch.cuda.synchronize()
print(out[0, 0].item())
