"""Two streams write different rows of a table by index."""

import torch

from streams import DEVICE, Stream, stream, synchronize

table = torch.zeros(4, 16, device=DEVICE)
ours = torch.tensor([0, 2], device=DEVICE)
theirs = torch.tensor([1, 3], device=DEVICE)
side = Stream()
synchronize()

with stream(side):
    table.index_fill_(0, ours, 1.0)
table.index_fill_(0, theirs, 2.0)
synchronize()
print(table.sum().item())
