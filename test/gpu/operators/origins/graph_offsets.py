"""Graphs in one batch: node numbers are shifted by a count that includes the graph itself."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


def collate(edges, owner, counts):
    return edges + counts.cumsum(dim=0)[owner]


def propagate(x, edges):
    source, target = edges.unbind(dim=0)
    messages = x.index_select(0, source)
    return torch.zeros_like(x).index_add_(0, target, messages)


counts = torch.tensor([3, 4, 5], device=DEVICE)
owner = torch.tensor([0, 0, 1, 1, 2], device=DEVICE)
edges = torch.tensor([[0, 1, 0, 3, 2], [1, 2, 1, 0, 0]], device=DEVICE)
x = torch.ones(12, 4, device=DEVICE)
print(propagate(x, collate(edges, owner, counts)).sum().item())
