"""Gradients are set to None before the capture, so the graph's pool owns them; the ordinary optimizer reads them.

Pattern: https://github.com/pytorch/pytorch/pull/174649
"""
import torch

weight = torch.nn.Parameter(torch.full((1024, 1024), 0.5, device="cuda"))
optimizer = torch.optim.SGD([weight], lr=0.25)
static = torch.ones(1024, 1024, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        weight.grad = None
        (weight * static).sum().backward()
torch.cuda.current_stream().wait_stream(side)
weight.grad = None
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    (weight * static).sum().backward()
for step in range(8):
    static.copy_(torch.full((1024, 1024), float(step % 2), device="cuda"))
    graph.replay()
    optimizer.step()
    snapshot = weight.detach().clone()
print(snapshot[3, 3].item())
assert snapshot[3, 3].item() == 0.5 - 4 * 0.25
