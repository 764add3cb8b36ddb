"""A prefetcher copies the next batch on its own stream, and the main stream waits for the copy."""

import torch
from torch import nn

from streams import DEVICE, Stream, current_stream, pinned, stream, synchronize



class Prefetcher:
    def __init__(self, host):
        self.host = host
        self.buffer = torch.zeros(host.shape, device=DEVICE)
        self.stream = Stream()

    def start(self):
        with stream(self.stream):
            self.buffer.copy_(self.host, non_blocking=True)

    def batch(self):
        current_stream().wait_stream(self.stream)
        return self.buffer


model = nn.Linear(32, 4).to(DEVICE)
prefetcher = Prefetcher(pinned(torch.ones(32, 32)))
synchronize()

prefetcher.start()
batch = prefetcher.batch()
output = model(batch)
synchronize()
print(output.shape)
