"""Correct: two graphs share a memory pool and are replayed in the order of their captures."""
import torch

from here import or_skip

x = torch.ones(1 << 20, device="cuda")
or_skip(lambda: (x * 2 + 1, torch.cuda.synchronize()))
first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
with torch.cuda.graph(first):
    middle = (x * 2).relu() + 1
with torch.cuda.graph(second, pool=first.pool()):
    out = (middle * 3).relu().mean()
for value in range(1, 6):
    x.fill_(value)
    first.replay()
    second.replay()
    assert abs(out.item() - (2 * value + 1) * 3) < 0.01, out
