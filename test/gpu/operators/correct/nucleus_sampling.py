"""Nucleus sampling: sort, cumsum, and scatter back."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
logits = torch.randn(2, 10).to(DEVICE)
ordered, order = logits.sort(dim=-1, descending=True)
cumulated = torch.softmax(ordered, dim=-1).cumsum(dim=-1)
remove = cumulated > 0.8
remove[:, 1:] = remove[:, :-1].clone()
remove[:, 0] = False
removed = torch.zeros_like(remove).scatter(1, order, remove)
probs = torch.softmax(logits.masked_fill(removed, float("-inf")), dim=-1)
tokens = torch.multinomial(probs, num_samples=1)
print(tokens.shape, probs.sum().item())
