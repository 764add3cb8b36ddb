"""Two halves of a grid with halo rows that both touch."""

import torch

from streams import DEVICE, Stream, stream, synchronize

grid = torch.ones(32, 64, device=DEVICE)
side = Stream()
synchronize()

with stream(side):
    grid[0:17].mul_(0.5)
heat = grid[17:32].sum()
synchronize()
print(heat.item())
