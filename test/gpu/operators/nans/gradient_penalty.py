"""A gradient penalty: the root of a squared gradient norm that is zero, differentiated again."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


def penalty(critic, samples):
    samples = samples.requires_grad_()
    scores = critic(samples).pow(2).sum()
    gradient, = torch.autograd.grad(scores, samples, create_graph=True)
    squares = gradient.pow(2)
    lengths = squares.sum(dim=1).sqrt()
    return (lengths - 1).pow(2).mean()


critic = nn.Linear(2, 1, bias=False).to(DEVICE)
nn.init.constant_(critic.weight, 0.5)
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
samples = torch.tensor([[1.0, 2.0], [1.0, -1.0]], device=DEVICE)
loss = penalty(critic, samples)
optimizer.zero_grad()
loss.backward()
optimizer.step()
print(loss.item(), critic.weight.tolist())
