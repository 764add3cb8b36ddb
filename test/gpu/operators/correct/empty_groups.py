"""Means of groups, some of them empty."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
values = torch.tensor([1.0, 3.0, 10.0, 20.0], device=DEVICE)
group = torch.tensor([0, 0, 2, 2], device=DEVICE)
sums = torch.zeros(4, device=DEVICE).index_add_(0, group, values)
counts = torch.zeros(4, device=DEVICE).index_add_(0, group, torch.ones_like(values))
means = sums / counts
means = torch.where(counts > 0, means, torch.zeros_like(means))
print(means.tolist())
