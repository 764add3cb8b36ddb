"""Segmentation masks with 255 at borders, and a loss that does not ignore it."""

import os

import numpy as np
import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
CLASSES = 21
annotation = np.array([[0, 0, 15], [0, 15, 255], [4, 4, 4]], dtype=np.uint8)


def prepare(annotation):
    mask = torch.from_numpy(annotation)
    return mask.unsqueeze(0).long()


torch.manual_seed(0)
net = nn.Conv2d(3, CLASSES, 1).to(DEVICE)
criterion = nn.CrossEntropyLoss()
image = torch.randn(1, 3, 3, 3).to(DEVICE)
target = prepare(annotation).to(DEVICE)
loss = criterion(net(image), target)
loss.backward()
print(loss.item())
