"""The entropy of a certain prediction: zero times the logarithm of zero."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, preferences):
        p = torch.softmax(self.scale * preferences, dim=-1)
        log_p = p.log()
        return p, -(p * log_p).sum(dim=-1)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = Policy()

    def forward(self, preferences):
        p, entropy = self.policy(preferences)
        return p, entropy.mean()


agent = Agent().to(DEVICE)
preferences = torch.tensor([[0.1, 0.4, 0.2], [-300.0, 5.0, 4.0]], device=DEVICE)
p, bonus = agent(preferences)
print(bonus.item())
