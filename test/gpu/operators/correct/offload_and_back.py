"""Activations go to the host and come back on a side stream, with waits."""

import os
import sys

import torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "races"))
from streams import DEVICE, Stream, current_stream, pinned, stream, synchronize  # noqa: E402

torch.manual_seed(0)
activation = torch.randn(32, 64).to(DEVICE)
saved = pinned(torch.zeros(32, 64))
back = torch.zeros(32, 64, device=DEVICE)
side = Stream()
synchronize()

side.wait_stream(current_stream())
with stream(side):
    saved.copy_(activation, non_blocking=True)
current_stream().wait_stream(side)
activation.relu_()
side.wait_stream(current_stream())
with stream(side):
    back.copy_(saved, non_blocking=True)
current_stream().wait_stream(side)
difference = (activation - back.relu()).abs().max()
synchronize()
print(difference.item())
