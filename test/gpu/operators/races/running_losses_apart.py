"""A logger averages the earlier losses on its stream while the training step stores the next one."""

import torch

from streams import DEVICE, Stream, stream, synchronize

losses = torch.ones(64, device=DEVICE)
step = 10
logging = Stream()
synchronize()

with stream(logging):
    average = losses[:step].mean()
losses[step].fill_(0.25)
synchronize()
print(average.item())
