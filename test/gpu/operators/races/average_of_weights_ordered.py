"""A moving average reads weights on a side stream, and the optimizer waits for it before it changes them."""

import torch

from streams import DEVICE, Stream, current_stream, stream, synchronize

weight = torch.ones(32, 16, device=DEVICE)
average = torch.zeros(32, 16, device=DEVICE)
gradient = torch.full((32, 16), 0.5, device=DEVICE)
side = Stream()
synchronize()

side.wait_stream(current_stream())
with stream(side):
    average.lerp_(weight, 0.1)
current_stream().wait_stream(side)
weight.sub_(gradient, alpha=0.1)
synchronize()
print(average.sum().item(), weight.sum().item())
