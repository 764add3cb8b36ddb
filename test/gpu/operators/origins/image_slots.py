"""Image patches are written to the places of a prompt that was truncated too far."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
PATCHES, LENGTH = 4, 10


def merge(embeds, patches, start):
    slots = start.unsqueeze(1) + torch.arange(PATCHES, device=start.device)
    rows = torch.arange(len(start), device=start.device).unsqueeze(1)
    embeds[rows, slots] = patches
    return embeds


words = nn.Embedding(50, 6).to(DEVICE)
prompt = torch.full((2, LENGTH), 3, device=DEVICE)
start = torch.tensor([2, 7], device=DEVICE)
with torch.no_grad():
    merged = merge(words(prompt), torch.ones(2, PATCHES, 6, device=DEVICE), start)
print(merged.shape)
