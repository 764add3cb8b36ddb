"""The maximum of each group starts at minus infinity, and empty groups become zero."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
x = torch.randn(5, 2).to(DEVICE).requires_grad_()
group = torch.tensor([[0], [0], [3], [3], [3]], device=DEVICE).expand(-1, 2)
top = torch.full((4, 2), float("-inf"), device=DEVICE).scatter_reduce(0, group, x, reduce="amax")
top = top.masked_fill(top == float("-inf"), 0.0)
top.pow(2).sum().backward()
print(top.sum().item(), x.grad.isfinite().all().item())
