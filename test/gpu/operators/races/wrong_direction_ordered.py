"""The side stream waits for the main stream, and not the other way around."""

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
