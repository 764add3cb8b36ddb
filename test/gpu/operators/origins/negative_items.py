"""Negative sampling draws from one item too many."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
USERS, ITEMS = 30, 50


class Factors(nn.Module):
    def __init__(self):
        super().__init__()
        self.users = nn.Embedding(USERS, 8)
        self.items = nn.Embedding(ITEMS, 8)

    def forward(self, users, items):
        taste = self.users(users).unsqueeze(1)
        return (taste * self.items(items)).sum(dim=-1)


torch.manual_seed(7)
model = Factors().to(DEVICE)
users = torch.arange(8, device=DEVICE)
liked = users * 3
drawn = torch.randint(0, ITEMS + 1, (8, 3)).to(DEVICE)
candidates = torch.cat([liked.unsqueeze(1), drawn], dim=1)
scores = model(users, candidates)
print(scores.mean().item())
