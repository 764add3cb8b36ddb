"""Two slots and a third batch: the copy waits until the slot has been read."""

import torch

from streams import DEVICE, Event, Stream, current_stream, pinned, stream, synchronize

slots = torch.zeros(2, 256, device=DEVICE)
batches = [pinned(torch.full((256,), float(number))) for number in range(3)]
sums = torch.zeros(3, device=DEVICE)
copies = Stream()
ready, done = [Event(), Event()], [Event(), Event()]
synchronize()

for number, batch in enumerate(batches):
    slot = number % 2
    with stream(copies):
        copies.wait_event(done[slot])
        slots[slot].copy_(batch, non_blocking=True)
        ready[slot].record()
    current_stream().wait_event(ready[slot])
    sums[number] = slots[slot].sum()
    done[slot].record()
synchronize()
print(sums.tolist())
