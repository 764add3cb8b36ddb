"""The learning rate is much too large: the weight overflows, and infinity minus infinity follows."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(1, 1, bias=False).to(DEVICE)
nn.init.constant_(model.weight, 1.0)
optimizer = torch.optim.SGD(model.parameters(), lr=1e8)
x = torch.tensor([[2.0]], device=DEVICE)
y = torch.tensor([[1.0]], device=DEVICE)
for step in range(8):
    optimizer.zero_grad()
    difference = model(x) - y
    loss = difference.pow(2).mean()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
