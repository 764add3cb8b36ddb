"""Distances of all pairs: the root of zero on the diagonal, in the backward pass."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Repulsion(nn.Module):
    def forward(self, x):
        offsets = x.unsqueeze(1) - x.unsqueeze(0)
        squared = offsets.pow(2).sum(dim=-1)
        distances = squared.sqrt()
        return torch.exp(-distances).mean()


class Layout(nn.Module):
    def __init__(self):
        super().__init__()
        self.points = nn.Parameter(torch.tensor([[0.0, 1.0], [2.0, 0.5], [1.0, 1.0]]))
        self.repel = Repulsion()

    def forward(self):
        return self.repel(self.points)


model = Layout().to(DEVICE)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
loss = model()
loss.backward()
optimizer.step()
print(loss.item(), model.points)
