"""The main stream waits for the side stream before it reads the result."""

import torch

from streams import DEVICE, Stream, current_stream, stream, synchronize

weights = torch.zeros(256, device=DEVICE)
side = Stream()
synchronize()

with stream(side):
    weights.exp_()
current_stream().wait_stream(side)
total = weights.sum()
synchronize()
print(total.item())
