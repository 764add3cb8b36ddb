"""An event is recorded after the work that it signals."""

import torch

from streams import DEVICE, Event, Stream, current_stream, stream, synchronize

x = torch.ones(256, device=DEVICE)
result = torch.zeros(256, device=DEVICE)
side, ready = Stream(), Event()
synchronize()

with stream(side):
    torch.add(x, 1.0, out=result)
    ready.record()
current_stream().wait_event(ready)
doubled = result * 2
synchronize()
print(doubled.sum().item())
