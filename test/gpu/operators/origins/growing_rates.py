"""A schedule of drop rates that grows past one."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
DEPTH = 5


def schedule(epoch):
    base = torch.arange(1, DEPTH + 1, device=DEVICE) * 0.15
    return base * (1 + epoch / 4)


def drop_layers(rates, batch):
    chances = rates.expand(batch, DEPTH)
    return torch.bernoulli(chances)


for epoch in range(4):
    rates = schedule(epoch)
    dropped = drop_layers(rates, batch=8)
    print(epoch, dropped.shape)
