"""A variational loss: the exponential of a log variance overflows, and its gradient is multiplied by zero."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(3, 2)
        self.log_variance = nn.Linear(3, 2)
        nn.init.constant_(self.log_variance.weight, 50.0)

    def forward(self, x):
        log_variance = self.log_variance(x)
        return self.mean(x), log_variance


def divergence(mean, log_variance):
    variance = log_variance.exp()
    return -0.5 * (1 + log_variance - mean.pow(2) - variance).sum(dim=1).mean()


torch.manual_seed(0)
model = Encoder().to(DEVICE)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.tensor([[1.0, 0.0, 2.0], [0.5, 0.0, 3.0]], device=DEVICE)
loss = divergence(*model(x))
optimizer.zero_grad()
loss.backward()
optimizer.step()
print(loss.item(), model.log_variance.weight.tolist())
