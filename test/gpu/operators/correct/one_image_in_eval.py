"""Batch normalisation of one image in evaluation mode."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.ReLU()).to(DEVICE)
for _ in range(3):
    model(torch.randn(8, 6).to(DEVICE))
model.eval()
with torch.inference_mode():
    output = model(torch.randn(1, 6).to(DEVICE))
print(output.isfinite().all().item())
