"""Cosine similarity written by hand, with a zero vector."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


def cosine(queries, keys):
    lengths = queries.norm(dim=1, keepdim=True) * keys.norm(dim=1)
    return (queries @ keys.t()) / lengths


queries = torch.tensor([[3.0, 4.0], [0.0, 0.0]], device=DEVICE)
keys = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], device=DEVICE)
similarity = cosine(queries, keys)
best = similarity.max(dim=1).values
print(best.tolist())
