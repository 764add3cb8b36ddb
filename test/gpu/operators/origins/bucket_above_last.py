"""bucketize returns an index beyond the last boundary."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class AgeFeature(nn.Module):
    def __init__(self, boundaries):
        super().__init__()
        self.register_buffer("boundaries", torch.tensor(boundaries))
        self.table = nn.Embedding(len(boundaries), 8)

    def forward(self, age):
        group = torch.bucketize(age, self.boundaries)
        return self.table(group)


feature = AgeFeature([18.0, 30.0, 45.0, 60.0]).to(DEVICE)
age = torch.tensor([17.0, 33.0, 60.0, 71.0], device=DEVICE)
print(feature(age).shape)
