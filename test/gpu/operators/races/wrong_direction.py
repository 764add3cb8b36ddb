"""The side stream waits for the main stream, but the main stream should wait for the side stream."""

import torch

from streams import DEVICE, Stream, current_stream, stream, synchronize

weights = torch.zeros(256, device=DEVICE)
side = Stream()
synchronize()

with stream(side):
    weights.exp_()
side.wait_stream(current_stream())
total = weights.sum()
synchronize()
print(total.item())
