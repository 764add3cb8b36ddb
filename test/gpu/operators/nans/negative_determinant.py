"""A flow: the logarithm of a determinant that became negative."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Mix(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 1.0]]))

    def forward(self, x):
        volume = torch.logdet(self.weight)
        return x @ self.weight.t(), volume


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = Mix()

    def forward(self, x):
        z, volume = self.mix(x)
        return z.pow(2).mean() - volume


flow = Flow().to(DEVICE)
loss = flow(torch.ones(4, 2, device=DEVICE))
print(loss.item())
