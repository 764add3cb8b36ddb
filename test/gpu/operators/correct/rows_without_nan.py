"""Rows with a NaN are removed before a fit."""

import os

import numpy as np
import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
table = np.array([[1.0, 2.0], [2.0, np.nan], [3.0, 6.0], [np.nan, 1.0], [4.0, 8.0]], dtype=np.float32)
rows = torch.from_numpy(table).to(DEVICE)
rows = rows[~rows.isnan().any(dim=1)]
x, y = rows[:, :1], rows[:, 1:]
model = nn.Linear(1, 1).to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for _ in range(20):
    loss = (model(x) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(len(rows), loss.item() < 100)
