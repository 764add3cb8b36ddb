"""torch.where guards a root in the forward pass, but not in the backward pass."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


def safe_root(x):
    root = torch.sqrt(x)
    return torch.where(x > 0, root, torch.zeros_like(x))


scale = nn.Parameter(torch.tensor([1.0, 1.0, 1.0], device=DEVICE))
optimizer = torch.optim.SGD([scale], lr=0.1)
x = torch.tensor([4.0, 0.0, 9.0], device=DEVICE)
loss = safe_root(scale * x).sum()
optimizer.zero_grad()
loss.backward()
optimizer.step()
print(loss.item(), scale.tolist())
