"""Count regression: the logarithm of a rate that nothing keeps positive."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Rate(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(2, 1)
        nn.init.constant_(self.out.weight, 0.5)
        nn.init.zeros_(self.out.bias)

    def forward(self, x):
        return self.out(x)


def poisson_loss(rate, counts):
    surprise = counts * torch.log(rate)
    return (rate - surprise).mean()


x = torch.tensor([[1.0, 2.0], [-3.0, 1.0], [2.0, 2.0]], device=DEVICE)
counts = torch.tensor([[1.0], [0.0], [4.0]], device=DEVICE)
loss = poisson_loss(Rate().to(DEVICE)(x), counts)
loss.backward()
print(loss.item())
