"""A pinned buffer is refilled after its copy to the GPU has finished."""

import torch

from streams import DEVICE, Event, Stream, pinned, stream, synchronize

staging = pinned(torch.ones(1024))
batch = torch.zeros(1024, device=DEVICE)
side, copied = Stream(), Event()
synchronize()

with stream(side):
    batch.copy_(staging, non_blocking=True)
    copied.record()
copied.synchronize()
staging.fill_(2.0)
synchronize()
print(batch.sum().item())
