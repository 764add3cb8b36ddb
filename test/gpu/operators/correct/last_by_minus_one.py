"""An index of -1 is the last element."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
states = torch.arange(24.0, device=DEVICE).view(2, 4, 3)
lengths = torch.tensor([4, 0], device=DEVICE)
rows = torch.arange(2, device=DEVICE)
last = states[rows, lengths - 1]
order = torch.tensor([-1, 0, -2], device=DEVICE)
print(last.tolist(), states[0, order].shape)
