"""Q learning: a stored action from an environment with more actions."""

import os

import numpy as np
import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Replay:
    def __init__(self):
        self.states, self.actions = [], []

    def push(self, state, action):
        self.states.append(state)
        self.actions.append(action)

    def sample(self, indices):
        states = torch.from_numpy(np.stack([self.states[each] for each in indices]))
        actions = torch.as_tensor([self.actions[each] for each in indices])
        return states.to(DEVICE), actions.to(DEVICE).unsqueeze(1)


replay = Replay()
for step, action in enumerate([0, 3, 2, 5, 1]):
    replay.push(np.full(6, step, dtype=np.float32), action)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4)).to(DEVICE)
states, actions = replay.sample([1, 3, 4])
chosen = net(states).gather(1, actions)
chosen.mean().backward()
print(chosen.shape)
