"""A tensor is used on a side stream and freed; record_stream keeps its memory until then."""

import torch

from streams import DEVICE, Stream, current_stream, keep, stream, synchronize

SIZE = 2**20


def reduced(side):
    batch = torch.ones(SIZE, device=DEVICE)
    side.wait_stream(current_stream())
    with stream(side):
        total = batch.sum()
    keep(batch, side)
    return total


side = Stream()
synchronize()
total = reduced(side)
mask = torch.full((SIZE,), -1.0, device=DEVICE)
synchronize()
print(total.item(), mask[0].item())
