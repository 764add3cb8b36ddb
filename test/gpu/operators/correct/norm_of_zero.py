"""The gradient of a norm at zero."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
delta = nn.Parameter(torch.zeros(3, 4, device=DEVICE))
optimizer = torch.optim.Adam([delta], lr=0.01)
for step in range(2):
    target = torch.ones(3, 4, device=DEVICE)
    loss = (delta - target).pow(2).mean() + 0.1 * delta.norm(dim=1).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(delta.isfinite().all().item())
