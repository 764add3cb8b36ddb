"""Batch normalisation of a logarithmic spectrum: a silent band is minus infinity."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Tagger(nn.Module):
    def __init__(self, bands):
        super().__init__()
        self.norm = nn.BatchNorm1d(bands)
        self.conv = nn.Conv1d(bands, 4, kernel_size=2)

    def forward(self, power):
        decibels = 10 * torch.log10(power)
        scaled = self.norm(decibels)
        return self.conv(scaled).amax(dim=2)


power = torch.arange(1.0, 19.0).view(2, 3, 3)
power[1, 1, 2] = 0.0
score = Tagger(3).to(DEVICE)(power.to(DEVICE)).mean()
print(score.item())
