"""A sequence longer than the table of positions."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
MAX_LENGTH = 16


class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(100, 32)
        self.places = nn.Embedding(MAX_LENGTH, 32)

    def forward(self, ids):
        steps = torch.arange(ids.shape[1], device=ids.device)
        positions = steps.unsqueeze(0)
        words = self.words(ids)
        return words + self.places(positions)


torch.manual_seed(0)
embeddings = Embeddings().to(DEVICE)
for length in (9, 14, 17):
    ids = torch.randint(0, 100, (2, length)).to(DEVICE)
    print(length, embeddings(ids).mean().item())
