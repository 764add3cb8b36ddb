"""A logger averages losses on its stream, including the one that the training step is storing."""

import torch

from streams import DEVICE, Stream, stream, synchronize

losses = torch.ones(64, device=DEVICE)
step = 10
logging = Stream()
synchronize()

with stream(logging):
    average = losses[:step + 1].mean()
losses[step].fill_(0.25)
synchronize()
print(average.item())
