"""nan_to_num replaces the NaN of features that are 0/0."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
clicks = torch.tensor([3.0, 0.0, 5.0, 0.0], device=DEVICE)
views = torch.tensor([10.0, 0.0, 20.0, 4.0], device=DEVICE)
rate = clicks / views
rate = torch.nan_to_num(rate, nan=0.0)
model = nn.Linear(1, 1).to(DEVICE)
loss = model(rate.unsqueeze(1)).pow(2).mean()
loss.backward()
print(rate.tolist(), model.weight.grad.isfinite().all().item())
