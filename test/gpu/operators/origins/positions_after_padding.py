"""Positions counted from the padding index, and a full sequence."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
PAD = 1
TABLE = 11


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(TABLE, 16, padding_idx=PAD)

    def forward(self, ids):
        mask = ids.ne(PAD).long()
        positions = torch.cumsum(mask, dim=1) * mask + PAD
        return self.table(positions)


ids = torch.full((2, 10), 20, device=DEVICE)
ids[0, 7:] = PAD
print(Positions().to(DEVICE)(ids).shape)
