"""A bias is changed on a side stream, and the use of its expanded view waits for that."""

import torch

from streams import DEVICE, Stream, current_stream, stream, synchronize

bias = torch.zeros(1, 16, device=DEVICE)
hidden = torch.ones(32, 16, device=DEVICE)
side = Stream()
synchronize()

with stream(side):
    bias.add_(1.0)
current_stream().wait_stream(side)
shifted = bias.expand(32, 16) * hidden
synchronize()
print(shifted.sum().item())
