"""The host reads a result before its asynchronous copy has finished."""

import torch

from streams import DEVICE, Stream, pinned, stream, synchronize

result = torch.ones(1024, device=DEVICE)
host = pinned(torch.zeros(1024))
side = Stream()
synchronize()

with stream(side):
    host.copy_(result, non_blocking=True)
total = host.sum()
synchronize()
print(total.item())
