"""A table with -1 for unknown classes, which are filtered before the loss."""

import os

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
table = torch.full((34,), -1, device=DEVICE)
table[torch.tensor([7, 8, 11], device=DEVICE)] = torch.arange(3, device=DEVICE)
raw = torch.tensor([7, 29, 8, 11, 0, 7], device=DEVICE)
labels = table[raw]
known = labels >= 0
logits = nn.Linear(5, 3).to(DEVICE)(torch.randn(6, 5).to(DEVICE))
loss = F.cross_entropy(logits[known], labels[known])
print(known.sum().item(), loss.item())
