"""Double buffering: producer and consumer use different slots."""

import torch

from streams import DEVICE, Stream, stream, synchronize

slots = torch.zeros(2, 256, device=DEVICE)
step = 3
side = Stream()
synchronize()

with stream(side):
    slots[step % 2].fill_(1.0)
total = slots[(step + 1) % 2].sum()
synchronize()
print(total.item())
