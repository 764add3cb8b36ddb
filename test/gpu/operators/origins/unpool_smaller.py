"""Unpooling to a smaller size than the pooled image had."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Bottleneck(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.MaxPool2d(2, return_indices=True)
        self.unpool = nn.MaxUnpool2d(2)

    def forward(self, image, size):
        small, places = self.pool(image)
        return self.unpool(small, places, output_size=size)


image = torch.zeros(1, 1, 4, 4, device=DEVICE)
for row, column in ((0, 0), (0, 2), (2, 0), (3, 3)):
    image[0, 0, row, column] = 1.0
print(Bottleneck().to(DEVICE)(image, (3, 3)))
