"""Action masks: log_softmax of a state in which no action is allowed."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 3)

    def forward(self, state, allowed):
        logits = self.body(state)
        logits = logits.masked_fill(~allowed, float("-inf"))
        return torch.log_softmax(logits, dim=-1)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = Actor()
        self.critic = nn.Linear(4, 1)

    def forward(self, state, allowed):
        return self.actor(state, allowed), self.critic(state)


torch.manual_seed(0)
model = ActorCritic().to(DEVICE)
state = torch.randn(3, 4).to(DEVICE)
allowed = torch.tensor([[True, True, False], [False, True, True], [False, False, False]], device=DEVICE)
log_p, value = model(state, allowed)
actions = torch.tensor([[0], [1], [0]], device=DEVICE)
loss = value.pow(2).mean() - log_p.gather(1, actions).mean()
print(loss.item())
