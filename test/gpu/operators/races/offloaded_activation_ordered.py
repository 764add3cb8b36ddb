"""An activation is copied to the host, and the next layer waits for the copy before it changes it in place."""

import torch

from streams import DEVICE, Stream, current_stream, pinned, stream, synchronize

torch.manual_seed(0)
activation = torch.randn(16, 64).to(DEVICE)
saved = pinned(torch.zeros(16, 64))
side = Stream()
synchronize()

side.wait_stream(current_stream())
with stream(side):
    saved.copy_(activation, non_blocking=True)
current_stream().wait_stream(side)
activation.relu_()
synchronize()
print(saved.min().item(), activation.min().item())
