"""The deviation of one sample without correction."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
for rewards in ([1.0, 0.0, 2.0], [3.0]):
    rewards = torch.tensor(rewards, device=DEVICE)
    advantages = (rewards - rewards.mean()) / (rewards.std(correction=0) + 1e-6)
print(advantages.tolist())
