"""Hashed features: the remainder of a negative hash is negative."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
BUCKETS = 1000


def bucket(hashes):
    return torch.fmod(hashes, BUCKETS)


class HashedFeatures(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(BUCKETS, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, hashes):
        rows = bucket(hashes)
        return self.out(self.table(rows).mean(dim=1))


model = HashedFeatures().to(DEVICE)
hashes = torch.tensor([[7240123, 991], [-48213377, 5501]], device=DEVICE)
print(model(hashes).sum().item())
