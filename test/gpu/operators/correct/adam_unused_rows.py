"""Adam on an embedding with rows that get no gradient."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
embed = nn.Embedding(6, 4).to(DEVICE)
optimizer = torch.optim.Adam(embed.parameters(), lr=1e-3)
for step in range(3):
    loss = embed(torch.tensor([1, 3], device=DEVICE)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(embed.parameters(), max_norm=1.0)
    optimizer.step()
print(embed.weight.isfinite().all().item())
