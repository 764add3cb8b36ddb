"""A training loop that skips a step if the loss is not finite."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
model = nn.Linear(3, 1).to(DEVICE)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
batches = [[1.0, 2.0, 3.0], [1e30, 1e30, -1e30], [0.5, 0.1, 0.2]]
skipped = 0
for batch in batches:
    x = torch.tensor([batch], device=DEVICE)
    energy = model(x).pow(2) * x.pow(2).sum()
    loss = (energy - energy.detach() + energy.sqrt()).mean()
    if not torch.isfinite(loss):
        skipped += 1
        continue
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(skipped, model.weight.isfinite().all().item())
