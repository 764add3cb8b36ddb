"""Mixed precision: the scaler skips a step whose gradients overflow."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
model = nn.Linear(4, 1).to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler(DEVICE.split(":")[0], init_scale=2.0**126, growth_interval=100)
x = torch.full((2, 4), 8.0, device=DEVICE)
before = model.weight.detach().clone()
for step in range(2):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
print(scaler.get_scale() < 2.0**126, torch.equal(before, model.weight))
