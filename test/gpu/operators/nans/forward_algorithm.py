"""A sum of logarithms written by hand: infinity minus infinity for an unreachable state."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
STATES = 3


def log_sum(x):
    top = x.max(dim=0, keepdim=True).values
    shifted = x - top
    return top.squeeze(0) + shifted.exp().sum(dim=0).log()


def forward_scores(emissions, transitions):
    alpha = torch.full((STATES,), float("-inf"), device=DEVICE)
    alpha[2] = 0.0
    for emission in emissions:
        alpha = log_sum(alpha.unsqueeze(1) + transitions) + emission
    return alpha


transitions = torch.zeros(STATES, STATES, device=DEVICE)
transitions[2, 0] = float("-inf")
emissions = torch.zeros(4, STATES, device=DEVICE)
score = forward_scores(emissions, transitions).max()
print(score.item())
