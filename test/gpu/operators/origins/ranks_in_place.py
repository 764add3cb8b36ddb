"""Ranks counted from one for a table are computed in place, in the memory of the order."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


def rank_table(order):
    ranks = order.view(-1)
    ranks += 1
    return ranks.tolist()


scores = torch.tensor([[0.9, 0.1, 0.5, 0.3]], device=DEVICE)
documents = torch.tensor([[101, 102, 103, 104]], device=DEVICE)
order = scores.argsort(dim=1)
print(rank_table(order))
best = documents.gather(1, order)
print(best[0, 0].item())
