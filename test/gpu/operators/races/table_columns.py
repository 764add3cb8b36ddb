"""Columns of a table are changed on a side stream while the main stream sums columns, one of them the same."""

import torch

from streams import DEVICE, Stream, stream, synchronize

table = torch.zeros(64, 8, device=DEVICE)
side = Stream()
synchronize()

with stream(side):
    table[:, 1:4].add_(1.0)
total = table[:, 3:6].sum()
synchronize()
print(total.item())
