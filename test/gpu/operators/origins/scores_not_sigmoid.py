"""BCELoss gets scores above one, because no sigmoid was applied."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2, 1)
        nn.init.constant_(self.head.weight, 0.5)
        nn.init.zeros_(self.head.bias)

    def forward(self, x):
        return torch.relu(self.head(x))


model = Detector().to(DEVICE)
criterion = nn.BCELoss()
x = torch.tensor([[0.5, 1.0], [1.0, 2.0], [0.0, 0.5]], device=DEVICE)
labels = torch.tensor([[1.0], [0.0], [1.0]], device=DEVICE)
scores = model(x)
loss = criterion(scores, labels)
loss.backward()
print(loss.item())
