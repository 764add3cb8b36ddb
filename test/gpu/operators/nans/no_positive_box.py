"""Detection: the mean over matched boxes of an image without objects."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


def box_loss(predicted, target, matched):
    errors = (predicted - target).abs().sum(dim=-1)
    return errors[matched].mean()


torch.manual_seed(0)
head = nn.Linear(8, 4).to(DEVICE)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
images = [[True, False, True], [False, False, False]]
for matched in images:
    anchors = torch.randn(3, 8).to(DEVICE)
    target = torch.ones(3, 4, device=DEVICE)
    loss = box_loss(head(anchors), target, torch.tensor(matched, device=DEVICE))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
