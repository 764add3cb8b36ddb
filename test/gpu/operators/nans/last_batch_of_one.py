"""Features divided by the deviation of their batch, and a last batch of one sample."""

import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Normalise(nn.Module):
    def forward(self, x):
        spread = x.std(dim=0)
        return (x - x.mean(dim=0)) / (spread + 1e-6)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.normalise = Normalise()
        self.out = nn.Linear(5, 1)

    def forward(self, x):
        return self.out(self.normalise(x))


torch.manual_seed(0)
model = Model().to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = TensorDataset(torch.randn(10, 5), torch.randn(10, 1))
for x, y in DataLoader(data, batch_size=3):
    loss = nn.functional.mse_loss(model(x.to(DEVICE)), y.to(DEVICE))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
