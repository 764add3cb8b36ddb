"""A prefetcher with its own stream: the main stream waits for it, and the allocator knows who else uses the batch."""

import os
import sys

import torch
from torch import nn

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "races"))
from streams import DEVICE, Stream, current_stream, keep, pinned, stream, synchronize  # noqa: E402



class Prefetcher:
    def __init__(self, batches):
        self.batches = iter(batches)
        self.stream = Stream()
        self.preload()

    def preload(self):
        host = next(self.batches, None)
        if host is None:
            self.ready = None
            return
        with stream(self.stream):
            self.ready = host.to(DEVICE, non_blocking=True)

    def __iter__(self):
        while self.ready is not None:
            current_stream().wait_stream(self.stream)
            batch = self.ready
            keep(batch, current_stream())
            self.preload()
            yield batch


model = nn.Linear(8, 1).to(DEVICE)
synchronize()
total = torch.zeros((), device=DEVICE)
for batch in Prefetcher([pinned(torch.full((4, 8), float(number))) for number in range(4)]):
    total += model(batch).detach().sum()
synchronize()
print(total.isfinite().item())
