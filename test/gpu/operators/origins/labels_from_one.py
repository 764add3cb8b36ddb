"""Classes counted from 1 in the data set, from 0 in the loss."""

import os

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
labels = np.array([3, 1, 7, 2, 9, 10, 4, 5], dtype=np.int64)
images = torch.randn(8, 1, 12, 12)

model = nn.Sequential(nn.Flatten(), nn.Linear(144, 32), nn.ReLU(), nn.Linear(32, 10)).to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    inputs = images.to(DEVICE)
    targets = torch.from_numpy(labels).to(DEVICE)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
