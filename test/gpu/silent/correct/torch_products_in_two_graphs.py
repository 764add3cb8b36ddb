"""Two graphs and ordinary code multiply matrices; each stream has a workspace that PyTorch keeps.

Pattern: https://github.com/flashinfer-ai/flashinfer/pull/4399
"""
import torch

a = torch.ones(512, 512, device="cuda")
b = torch.eye(512, device="cuda")
small, large = torch.zeros(512, 512, device="cuda"), torch.ones(2048, 512, device="cuda")
torch.mm(a, b)
torch.mm(large, b)
torch.cuda.synchronize()
first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
with torch.cuda.graph(first):
    torch.mm(a, b, out=small)
with torch.cuda.graph(second, pool=first.pool()):
    product = torch.mm(large, b)
for step in range(6):
    a.fill_(step)
    large.fill_(step + 1)
    eager = torch.mm(a, b) + torch.full((512, 512), 2.0, device="cuda")
    first.replay()
    second.replay()
    assert small[5, 5].item() == step
    assert product[5, 5].item() == step + 1
    assert eager[5, 5].item() == step + 2
    del eager
print(product.shape)
