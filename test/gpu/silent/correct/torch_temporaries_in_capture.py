"""Tensors of a capture die during and after it; their blocks stay in the graph's pool, and others get other memory.

Pattern: https://github.com/pytorch/pytorch/issues/159594
"""
import torch

x = torch.zeros(4 << 20, device="cuda")
total = torch.zeros((), device="cuda")
(x * 2 + 1).sum()
torch.cuda.synchronize()


def captured():
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scaled = x * 2
        shifted = scaled + 1
        del scaled
        squared = shifted * shifted
        total.copy_(squared.mean())
    return graph


graph = captured()
others = []
for step in range(6):
    others.append(torch.full((4 << 20,), 100.0 + step, device="cuda"))
    x.fill_(step)
    graph.replay()
    assert abs(total.item() - (2 * step + 1) ** 2) < 0.01
    assert all(other[0].item() == 100 + number for number, other in enumerate(others))
print(total.item())
