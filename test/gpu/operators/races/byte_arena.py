"""Two tensors of different types are views of one arena of bytes, and overlap."""

import torch

from streams import DEVICE, Stream, stream, synchronize

arena = torch.zeros(4096, dtype=torch.uint8, device=DEVICE)
weights = arena[0:2048].view(torch.float32)
scales = arena[1024:3072].view(torch.float16)
side = Stream()
synchronize()

with stream(side):
    weights.fill_(1.0)
scales.mul_(2.0)
synchronize()
print(weights.sum().item())
