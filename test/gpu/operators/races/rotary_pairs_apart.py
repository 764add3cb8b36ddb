"""Rotary embeddings: even features change while the odd features are read."""

import torch

from streams import DEVICE, Stream, stream, synchronize

x = torch.ones(2, 8, 16, device=DEVICE)
side = Stream()
synchronize()

with stream(side):
    x[..., 0::2].neg_()
total = x[..., 1::2].sum()
synchronize()
print(total.item())
