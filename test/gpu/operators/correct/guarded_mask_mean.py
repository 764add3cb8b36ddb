"""A masked mean whose count is at least one."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
model = nn.Linear(4, 1).to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for mask in ([1.0, 1.0, 0.0], [0.0, 0.0, 0.0]):
    mask = torch.tensor(mask, device=DEVICE)
    errors = (model(torch.randn(3, 4).to(DEVICE)).squeeze(1) - 1.0).abs()
    loss = (errors * mask).sum() / mask.sum().clamp(min=1.0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
