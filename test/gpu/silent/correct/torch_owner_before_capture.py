"""A block is recycled several times before the capture; the graph uses it for its last owner, which stays alive.

No public report.
"""
import torch

out = torch.zeros(4 << 20, device="cuda")
for value in range(5):
    x = torch.full((4 << 20,), float(value), device="cuda")
    address = x.data_ptr()
    torch.add(x, 1, out=out)
    torch.cuda.synchronize()
    del x
static = torch.full((4 << 20,), 9.0, device="cuda")
print("one block:", static.data_ptr() == address)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    torch.add(static, 1, out=out)
for step in range(5):
    other = torch.full((4 << 20,), -1.0, device="cuda")
    static.fill_(step)
    graph.replay()
    assert out[0].item() == step + 1
    del other
