"""Gradients are views of one bucket, which is averaged in slices."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)).to(DEVICE)
bucket = torch.zeros(sum(each.numel() for each in model.parameters()), device=DEVICE)
start = 0
for parameter in model.parameters():
    parameter.grad = bucket[start:start + parameter.numel()].view_as(parameter)
    start += parameter.numel()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    bucket.zero_()
    model(torch.randn(4, 6).to(DEVICE)).pow(2).mean().backward()
    for part in bucket.split(32):
        part.div_(4)
    optimizer.step()
print(bucket.norm().item())
