"""The names of a graph's inputs are deleted, but views and a detached tensor keep their memory alive.

Pattern: https://github.com/pytorch/pytorch/pull/174649
"""
import torch

whole = torch.arange(8 << 20, dtype=torch.float32, device="cuda")
scale = torch.full((4 << 20,), 2.0, device="cuda", requires_grad=True)
out = torch.zeros(4 << 20, device="cuda")
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.no_grad(), torch.cuda.graph(graph):
    torch.mul(whole[4 << 20:], scale, out=out)
last = whole[-1:]
constant = scale.detach()
del whole, scale
others = []
for step in range(4):
    others.append(torch.full((4 << 20,), -1.0, device="cuda"))
    others.append(torch.full((8 << 20,), -2.0, device="cuda"))
    graph.replay()
    assert out[0].item() == 2 * (4 << 20)
print(last.item(), constant[0].item(), len(others))
