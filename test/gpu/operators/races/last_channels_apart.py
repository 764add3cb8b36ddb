"""An image in channels_last memory: a channel is filled while other channels are summed."""

import torch

from streams import DEVICE, Stream, stream, synchronize

image = torch.zeros(1, 4, 8, 8, device=DEVICE).contiguous(memory_format=torch.channels_last)
side = Stream()
synchronize()

with stream(side):
    image[:, 1].fill_(0.5)
brightness = image[:, 2:4].sum()
synchronize()
print(brightness.item())
