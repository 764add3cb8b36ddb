"""bucketize with a clamp for values above the last boundary."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
boundaries = torch.tensor([18.0, 30.0, 45.0, 60.0], device=DEVICE)
table = nn.Embedding(4, 8).to(DEVICE)
age = torch.tensor([17.0, 33.0, 60.0, 71.0], device=DEVICE)
group = torch.bucketize(age, boundaries)
group.clamp_(max=3)
print(table(group).shape, group.tolist())
