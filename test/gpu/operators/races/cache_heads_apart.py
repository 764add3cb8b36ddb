"""A key cache: heads are copied back on a side stream while attention reads another head."""

import torch

from streams import DEVICE, Stream, pinned, stream, synchronize

BATCH, HEADS, LENGTH, WIDTH = 2, 4, 16, 8
cache = torch.zeros(BATCH, HEADS, LENGTH, WIDTH, device=DEVICE)
fetched = pinned(torch.ones(BATCH, 3, LENGTH, WIDTH))
transfer = Stream()
synchronize()

with stream(transfer):
    cache[:, 0:3].copy_(fetched, non_blocking=True)
scaled = cache[:, 3:4] * WIDTH**-0.5
synchronize()
print(scaled.sum().item())
