"""out= writes into a part of a scratch buffer, and the main stream waits for that before it reads."""

import torch

from streams import DEVICE, Stream, current_stream, stream, synchronize

scratch = torch.zeros(1024, device=DEVICE)
x = torch.ones(512, device=DEVICE)
side = Stream()
synchronize()

with stream(side):
    torch.mul(x, 2.0, out=scratch[256:768])
current_stream().wait_stream(side)
total = scratch[:512].sum()
synchronize()
print(total.item())
