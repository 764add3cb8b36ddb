"""The root of cdist with equal points."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
points = nn.Parameter(torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 0.0]], device=DEVICE))
optimizer = torch.optim.SGD([points], lr=0.1)
loss = torch.exp(-torch.cdist(points, points).sqrt()).mean()
loss.backward()
optimizer.step()
print(points.isfinite().all().item())
