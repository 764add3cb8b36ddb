"""A masked mean of a batch whose mask is empty."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


def masked_mean(values, mask):
    return (values * mask).sum() / mask.sum()


torch.manual_seed(0)
model = nn.Linear(4, 1).to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
masks = [[1, 1, 0], [1, 0, 0], [0, 0, 0]]
for mask in masks:
    x = torch.randn(3, 4).to(DEVICE)
    errors = (model(x).squeeze(1) - 1.0).abs()
    loss = masked_mean(errors, torch.tensor(mask, device=DEVICE))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
