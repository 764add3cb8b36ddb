"""Layer normalisation without epsilon of a padding token whose embedding is zero."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 4, padding_idx=0)
        self.norm = nn.LayerNorm(4, eps=0.0)
        self.dense = nn.Linear(4, 4)

    def forward(self, ids):
        states = self.norm(self.embed(ids))
        return self.dense(states).mean(dim=1)


torch.manual_seed(0)
encoder = Encoder().to(DEVICE)
with torch.inference_mode():
    pooled = encoder(torch.tensor([[3, 7, 0]], device=DEVICE))
print(pooled.tolist())
