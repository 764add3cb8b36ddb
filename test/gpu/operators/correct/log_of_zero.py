"""Probabilities in logarithms: log(0) is minus infinity, and exp turns it back into zero."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
start = torch.tensor([1.0, 0.0, 0.0], device=DEVICE)
transitions = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]], device=DEVICE)
log_alpha, log_transitions = start.log(), transitions.log()
for _ in range(4):
    log_alpha = torch.logsumexp(log_alpha.unsqueeze(1) + log_transitions, dim=0)
alpha = log_alpha.exp()
print(alpha.tolist())
