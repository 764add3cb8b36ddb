"""A convolutional network with in-place activations."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
                    nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.LeakyReLU(0.1, inplace=True),
                    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)).to(DEVICE)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(2):
    images, labels = torch.randn(4, 3, 8, 8).to(DEVICE), torch.arange(4, device=DEVICE)
    loss = nn.functional.cross_entropy(net(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
