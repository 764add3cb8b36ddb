"""Attention over a sequence that is all padding: softmax of minus infinities."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x, padding):
        scores = self.query(x) @ self.key(x).transpose(1, 2) / x.shape[-1] ** 0.5
        scores = scores.masked_fill(padding.unsqueeze(1), float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return weights @ self.value(x)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = Attention(width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x, padding):
        return self.norm(x + self.attention(x, padding))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8, padding_idx=0)
        self.layers = nn.ModuleList(Layer(8) for _ in range(2))

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, ids == 0)
        return x


model = Encoder().to(DEVICE)
ids = torch.tensor([[4, 9, 2], [0, 0, 0]], device=DEVICE)
loss = model(ids).pow(2).mean()
print(loss.item())
