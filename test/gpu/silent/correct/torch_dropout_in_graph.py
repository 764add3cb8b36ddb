"""A graph with dropout is replayed; PyTorch keeps the seed and the offset in tensors outside the graph's pool.

Pattern: https://github.com/pytorch/pytorch/pull/77862
"""
import torch

torch.manual_seed(1)
x = torch.ones(1 << 20, device="cuda")
torch.nn.functional.dropout(x, 0.5)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    out = torch.nn.functional.dropout(x, 0.5)
shares, small = [], []
for step in range(10):
    small.append(torch.full((1,), 1 << 40, device="cuda"))
    graph.replay()
    shares.append((out == 0).float().mean().item())
    if step % 3 == 0:
        small.clear()
assert all(0.45 < share < 0.55 for share in shares)
assert len(set(shares)) > 1
print(shares[0], shares[-1])
