"""An event is recorded before the work that it should signal."""

import torch

from streams import DEVICE, Event, Stream, current_stream, stream, synchronize

x = torch.ones(256, device=DEVICE)
result = torch.zeros(256, device=DEVICE)
side, ready = Stream(), Event()
synchronize()

with stream(side):
    ready.record()
    torch.add(x, 1.0, out=result)
current_stream().wait_event(ready)
doubled = result * 2
synchronize()
print(doubled.sum().item())
