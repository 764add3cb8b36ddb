"""Gamma correction of an image with a negative pixel: a negative number to a fractional power."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Tone(nn.Module):
    def forward(self, linear):
        return linear ** (1 / 2.2)


class Renderer(nn.Module):
    def __init__(self):
        super().__init__()
        self.exposure = nn.Parameter(torch.tensor(2.0))
        self.tone = Tone()

    def forward(self, radiance):
        return self.tone(radiance * self.exposure)


radiance = torch.full((1, 3, 2, 2), 0.25)
radiance[0, 1, 0, 1] = -0.01
renderer = Renderer().to(DEVICE)
image = renderer(radiance.to(DEVICE))
loss = (image - 0.5).abs().mean()
print(loss.item())
