"""Two graphs share a pool, and each capture forks to a side stream and joins it again.

Pattern: https://github.com/pytorch/pytorch/pull/162186
"""
import torch

x = torch.zeros(1 << 20, device="cuda")
side = torch.cuda.Stream()
(x * 2 + x).relu()
torch.cuda.synchronize()


def captured(factor, pool):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        main = torch.cuda.current_stream()
        side.wait_stream(main)
        with torch.cuda.stream(side):
            left = x * factor
        right = x + factor
        main.wait_stream(side)
        both = left + right
    return graph, both


pool = torch.cuda.graph_pool_handle()
graphs = [captured(factor, pool) for factor in (2, 3)]
for step in range(12):
    x.fill_(step)
    for factor, (graph, both) in enumerate(graphs, 2):
        graph.replay()
        assert both[5].item() == step * factor + step + factor
print(len(graphs))
