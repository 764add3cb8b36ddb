"""Generation continues after the preallocated key cache is full."""
import torch


class Cache:
    def __init__(self, length):
        self.keys = torch.zeros(1, length, 4, 16, device="cuda")

    def update(self, where, key):
        self.keys.index_copy_(1, where, key)  # TRUE LINE
        return self.keys


@torch.no_grad()
def generate(steps):
    cache = Cache(length=16)
    total = torch.zeros((), device="cuda")
    for step in range(steps):
        where = torch.tensor([step], device="cuda")
        total += cache.update(where, torch.ones(1, 1, 4, 16, device="cuda")).sum()
    return total


print(generate(steps=17).item())  # BLAMED
