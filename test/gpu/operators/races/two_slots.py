"""Double buffering: the consumer computes the same slot number as the producer."""

import torch

from streams import DEVICE, Stream, stream, synchronize

slots = torch.zeros(2, 256, device=DEVICE)
step = 3
side = Stream()
synchronize()

with stream(side):
    slots[step % 2].fill_(1.0)
total = slots[(step + 2) % 2].sum()
synchronize()
print(total.item())
