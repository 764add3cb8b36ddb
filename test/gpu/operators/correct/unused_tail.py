"""A cache of fixed length: only the part that was written is read."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.use_deterministic_algorithms(True)


class Cache:
    def __init__(self, length, width):
        self.keys = torch.empty(length, width, device=DEVICE)
        self.used = 0

    def append(self, key):
        self.keys[self.used] = key
        self.used += 1
        return self.keys[:self.used]


cache = Cache(length=16, width=4)
for number in range(5):
    keys = cache.append(torch.full((4,), float(number), device=DEVICE))
    weights = torch.softmax(keys.sum(dim=1), dim=0)
print(weights.tolist())
