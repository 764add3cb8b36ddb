"""Two buffers, two streams, and events in both directions."""

import os
import sys

import torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "races"))
from streams import DEVICE, Event, Stream, current_stream, pinned, stream, synchronize  # noqa: E402

slots = torch.zeros(2, 512, device=DEVICE)
batches = [pinned(torch.full((512,), float(number))) for number in range(6)]
sums = torch.zeros(6, device=DEVICE)
copies = Stream()
filled, read = [Event(), Event()], [Event(), Event()]
synchronize()

for number, batch in enumerate(batches):
    slot = number % 2
    with stream(copies):
        copies.wait_event(read[slot])
        slots[slot].copy_(batch, non_blocking=True)
        filled[slot].record()
    current_stream().wait_event(filled[slot])
    sums[number] = slots[slot].sum()
    read[slot].record()
synchronize()
print(sums.tolist())
