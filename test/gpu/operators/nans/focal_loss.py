"""A focal loss with an exponent below one, and a prediction that is exactly one."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class FocalLoss(nn.Module):
    def __init__(self, gamma):
        super().__init__()
        self.gamma = gamma

    def forward(self, logits):
        p = torch.sigmoid(logits)
        focus = (1 - p) ** self.gamma
        return -(focus * torch.log(p)).mean()


model = nn.Linear(2, 1, bias=False).to(DEVICE)
nn.init.constant_(model.weight, 1.0)
criterion = FocalLoss(gamma=0.5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.tensor([[0.5, -0.5], [30.0, 20.0]], device=DEVICE)
loss = criterion(model(x).squeeze(1))
loss.backward()
optimizer.step()
print(loss.item(), model.weight.tolist())
