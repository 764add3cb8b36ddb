"""foreach updates a list of weights in one flat buffer, and a norm of the buffer waits for that."""

import torch

from streams import DEVICE, Stream, current_stream, stream, synchronize

flat = torch.ones(1000, device=DEVICE)
weights = [flat[0:400], flat[400:1000]]
updates = [torch.ones_like(each) for each in weights]
side = Stream()
synchronize()

with stream(side):
    torch._foreach_add_(weights, updates, alpha=-0.1)
current_stream().wait_stream(side)
norm = flat[300:500].norm()
synchronize()
print(norm.item())
