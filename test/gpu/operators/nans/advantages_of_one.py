"""Policy gradients: advantages of a batch of one divided by their deviation."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


def normalised(advantages):
    spread = advantages.std()
    return (advantages - advantages.mean()) / (spread + 1e-8)


torch.manual_seed(0)
policy = nn.Linear(3, 2).to(DEVICE)
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
returns = torch.tensor([1.0, 2.5, 0.5, 1.5, -1.0])
states = torch.randn(5, 3)
for start in range(0, 5, 4):
    batch = slice(start, start + 4)
    advantages = normalised(returns[batch].to(DEVICE))
    log_p = torch.log_softmax(policy(states[batch].to(DEVICE)), dim=1)[:, 0]
    loss = -(log_p * advantages).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
