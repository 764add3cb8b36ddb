"""torch.where before and after a root."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
scale = nn.Parameter(torch.ones(3, device=DEVICE))
x = scale * torch.tensor([4.0, 0.0, 9.0], device=DEVICE)
positive = x > 0
inside = torch.where(positive, x, torch.ones_like(x))
root = torch.where(positive, inside.sqrt(), torch.zeros_like(x))
root.sum().backward()
print(scale.grad.tolist())
