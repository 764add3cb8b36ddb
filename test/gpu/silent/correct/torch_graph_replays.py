"""A captured step is replayed; its static input is refilled from pinned memory on the same stream.

Pattern: https://github.com/sgl-project/sglang-omni/pull/1369
"""
import torch

static = torch.zeros(4096, device="cuda")
batches = [torch.full((4096,), float(step)).pin_memory() for step in range(5)]
warm = torch.cuda.Stream()
warm.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(warm):
    (static * 2).sum()
torch.cuda.current_stream().wait_stream(warm)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    result = (static * 2).sum()
sums = []
for batch in batches:
    static.copy_(batch, non_blocking=True)
    graph.replay()
    sums.append(result.clone())
print([each.item() for each in sums])
