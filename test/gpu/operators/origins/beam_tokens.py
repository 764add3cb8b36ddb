"""Beam search: topk over beams and vocabulary, and the flat index is used as a token."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
BEAMS, VOCABULARY = 2, 6


def best(scores):
    flat = scores.view(scores.shape[0], -1)
    return flat.topk(BEAMS, dim=1)


embed = nn.Embedding(VOCABULARY, 4).to(DEVICE)
scores = torch.full((1, BEAMS, VOCABULARY), -9.0, device=DEVICE)
scores[0, 0, 4] = -0.5
scores[0, 1, 3] = -1.5
values, tokens = best(scores)
hidden = embed(tokens)
print(values, hidden.shape)
