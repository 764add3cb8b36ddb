"""A replay buffer whose position starts again at zero."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
SIZE = 8
states = torch.zeros(SIZE, 3, device=DEVICE)
position = torch.arange(3, device=DEVICE)
for step in range(6):
    states.index_copy_(0, position % SIZE, torch.full((3, 3), float(step), device=DEVICE))
    position += 3
print(states[:, 0].tolist())
