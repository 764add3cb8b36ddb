"""Weights as int8 with a scale for each row."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
weight = torch.randn(8, 16).to(DEVICE)
scale = weight.abs().amax(dim=1, keepdim=True) / 127
stored = (weight / scale).round().clamp(-128, 127).to(torch.int8)
x = torch.randint(-128, 128, (16,)).to(DEVICE)
sums = (stored.int() * x.int()).sum(dim=1)
restored = stored.float() * scale
print(sums.tolist(), (restored - weight).abs().max().item() < 0.05)
