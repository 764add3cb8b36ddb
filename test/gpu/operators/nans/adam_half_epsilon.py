"""Adam on half precision weights: its epsilon is zero there, and unused rows become 0/0."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
embed = nn.Embedding(6, 4).to(DEVICE).half()
optimizer = torch.optim.Adam(embed.parameters(), lr=1e-3)
ids = torch.tensor([1, 3, 4], device=DEVICE)
for step in range(2):
    optimizer.zero_grad()
    loss = embed(ids).float().sum()
    loss.backward()
    optimizer.step()
    print(loss.item())
print(embed.weight.isnan().any(dim=1).tolist())
