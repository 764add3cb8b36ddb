"""A tensor is used on a side stream without record_stream and freed, and its memory is reused."""

import torch

from streams import DEVICE, Stream, current_stream, stream, synchronize

SIZE = 2**20


def reduced(side):
    batch = torch.ones(SIZE, device=DEVICE)
    side.wait_stream(current_stream())
    with stream(side):
        total = batch.sum()
    return total


side = Stream()
synchronize()
total = reduced(side)
mask = torch.full((SIZE,), -1.0, device=DEVICE)
synchronize()
print(total.item(), mask[0].item())
