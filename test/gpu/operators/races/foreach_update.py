"""foreach updates a list of weights in one flat buffer while a norm reads the buffer."""

import torch

from streams import DEVICE, Stream, stream, synchronize

flat = torch.ones(1000, device=DEVICE)
weights = [flat[0:400], flat[400:1000]]
updates = [torch.ones_like(each) for each in weights]
side = Stream()
synchronize()

with stream(side):
    torch._foreach_add_(weights, updates, alpha=-0.1)
norm = flat[300:500].norm()
synchronize()
print(norm.item())
