"""A copying summariser: words outside the vocabulary get numbers past its end."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
VOCABULARY = 20


def extended(source, unknown, rank):
    return torch.where(unknown, VOCABULARY + rank, source)


def final_distribution(words, attention, ids, gate):
    mixed = gate * words
    return mixed.scatter_add_(1, ids, (1 - gate) * attention)


source = torch.tensor([[4, 11, 0, 7]], device=DEVICE)
unknown = source == 0
rank = torch.tensor([[0, 0, 2, 0]], device=DEVICE)
words = torch.full((1, VOCABULARY), 0.05, device=DEVICE)
attention = torch.full((1, 4), 0.25, device=DEVICE)
print(final_distribution(words, attention, extended(source, unknown, rank), 0.6).sum().item())
