"""Attention rows without a key are set to zero after softmax."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
scores = torch.randn(2, 3, 3).to(DEVICE)
allowed = torch.tensor([[True, True, False], [False, False, False]], device=DEVICE)
mask = allowed.unsqueeze(1).expand(2, 3, 3)
weights = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
weights = weights.masked_fill(~mask, 0.0)
values = torch.ones(2, 3, 4, device=DEVICE)
print((weights @ values).sum().item())
