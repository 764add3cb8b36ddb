"""Activation checkpointing with dropout and in-place activations."""

import os

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, width), nn.ReLU(inplace=True), nn.Dropout(0.1))

    def forward(self, x):
        return x + self.net(x)


torch.manual_seed(0)
blocks = nn.ModuleList(Block(16) for _ in range(3)).to(DEVICE)
x = torch.randn(4, 16).to(DEVICE).requires_grad_()
h = x
for block in blocks:
    h = checkpoint(block, h, use_reentrant=False)
h.pow(2).mean().backward()
print(x.grad.isfinite().all().item())
