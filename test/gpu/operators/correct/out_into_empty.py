"""Operators write into buffers from empty() with out=."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.use_deterministic_algorithms(True)
buffer = torch.empty(4, 4, device=DEVICE)
total = torch.zeros(4, 4, device=DEVICE)
for number in range(3):
    torch.mul(torch.ones(4, 4, device=DEVICE), float(number), out=buffer)
    total += buffer
print(total.sum().item())
