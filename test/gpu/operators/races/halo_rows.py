"""Two halves of a grid overlap in halo rows: one half is changed while the other is summed."""

import torch

from streams import DEVICE, Stream, stream, synchronize

grid = torch.ones(32, 64, device=DEVICE)
side = Stream()
synchronize()

with stream(side):
    grid[0:17].mul_(0.5)
heat = grid[15:32].sum()
synchronize()
print(heat.item())
