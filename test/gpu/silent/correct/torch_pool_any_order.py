"""Three graphs share a pool and are replayed in any order; no graph reads another one's memory.

Pattern: https://github.com/pytorch/pytorch/pull/166975
"""
import torch

x = torch.zeros(1 << 20, device="cuda")
results = [torch.zeros(1 << 20, device="cuda") for _ in range(3)]
(x * 2 + 1).relu()
torch.cuda.synchronize()
pool = torch.cuda.graph_pool_handle()
graphs = []
for factor, result in enumerate(results, 2):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        scaled = x * factor
        shifted = scaled + 1
        del scaled
        result.copy_(shifted.relu())
        del shifted
    graphs.append(graph)
for step in range(30):
    which = step * 7 % 3
    x.fill_(step)
    graphs[which].replay()
    assert results[which][99].item() == step * (which + 2) + 1
print(results[0][0].item())
