"""A bucket is sent on a side stream, and the gradients, views of it, are zeroed after that."""

import torch

from streams import DEVICE, Stream, current_stream, stream, synchronize

bucket = torch.ones(512, device=DEVICE)
weight_grad = bucket[0:384].view(24, 16)
bias_grad = bucket[384:512]
sent = torch.zeros(512, device=DEVICE)
side = Stream()
synchronize()

with stream(side):
    sent.copy_(bucket)
current_stream().wait_stream(side)
bias_grad.zero_()
synchronize()
print(sent.sum().item(), weight_grad.sum().item())
