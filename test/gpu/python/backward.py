"""The forward pass is good, then somebody overwrites the indices that the backward pass needs."""
import torch

x = torch.randn(1000, 8, device="cuda", requires_grad=True)
idx = torch.randint(0, 1000, (64, 8), device="cuda")
y = torch.gather(x, 0, idx)
idx.data.fill_(10**7)
y.sum().backward()
print(x.grad.sum().item())
