"""Attention scores that overflow half precision."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Attention(nn.Module):
    def forward(self, query, key, value):
        scores = query @ key.transpose(1, 2)
        weights = torch.softmax(scores / key.shape[-1] ** 0.5, dim=-1)
        return weights @ value


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()

    def forward(self, x):
        return self.attention(x, x, x)


x = torch.tensor([[[1.0, 2.0], [300.0, 200.0], [3.0, 0.0]]], device=DEVICE, dtype=torch.float16)
mean = Block()(x).float().mean()
print(mean.item())
