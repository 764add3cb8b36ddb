"""Weight normalisation of a layer that was initialised with zeros."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Adapter(nn.Module):
    def __init__(self, width, rank):
        super().__init__()
        self.down = nn.Linear(width, rank)
        self.up = nn.utils.parametrizations.weight_norm(nn.Linear(rank, width))
        for parameter in self.up.parameters():
            nn.init.zeros_(parameter)

    def forward(self, x):
        small = torch.relu(self.down(x))
        return x + self.up(small)


torch.manual_seed(0)
adapter = Adapter(6, 3).to(DEVICE)
output = adapter(torch.ones(2, 6, device=DEVICE))
print(output.tolist())
