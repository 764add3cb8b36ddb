"""Gradient buckets: a slice is scaled on a side stream while a slice that overlaps it is filled."""

import torch

from streams import DEVICE, Stream, stream, synchronize

WORLD = 8
bucket = torch.ones(1024, device=DEVICE)
late = torch.full((524,), 3.0, device=DEVICE)
side = Stream()
synchronize()

with stream(side):
    bucket[0:600].mul_(1 / WORLD)
bucket[500:1024].copy_(late)
synchronize()
print(bucket.sum().item())
