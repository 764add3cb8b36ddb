"""Mixed precision: scaled gradients are clipped before they are unscaled."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 1).to(DEVICE).half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler(DEVICE.split(":")[0], init_scale=2.0**17)
x = torch.full((1, 4), 2.0, device=DEVICE, dtype=torch.float16)

output = model(x)
loss = output.float().sum()
scaler.scale(loss).backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
optimizer.step()
print(loss.item(), model.weight)
