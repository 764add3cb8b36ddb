"""Dropout with probability one in an ablation."""

import os

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
x = torch.randn(4, 8).to(DEVICE).requires_grad_()
gate = nn.Dropout(p=1.0).to(DEVICE)
y = gate(x) + F.dropout(x, p=0.5)
y.sum().backward()
print(y.isfinite().all().item(), x.grad.isfinite().all().item())
