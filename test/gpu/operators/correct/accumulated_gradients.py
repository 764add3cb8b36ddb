"""Gradients of several small batches are added before a step."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
model = nn.Linear(5, 2).to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(8):
    x, y = torch.randn(4, 5).to(DEVICE), torch.zeros(4, dtype=torch.long, device=DEVICE)
    loss = nn.functional.cross_entropy(model(x), y) / 4
    loss.backward()
    if step % 4 == 3:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
print(loss.item())
