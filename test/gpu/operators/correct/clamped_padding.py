"""Sequences padded with -1, clamped before the embedding and masked after it."""

import os

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
sentences = [torch.tensor([7, 3, 12]), torch.tensor([31, 8]), torch.tensor([5])]
batch = pad_sequence(sentences, batch_first=True, padding_value=-1).to(DEVICE)
embed = nn.Embedding(40, 12).to(DEVICE)
words = embed(batch.clamp(min=0))
mask = (batch >= 0).unsqueeze(-1)
pooled = (words * mask).sum(dim=1) / mask.sum(dim=1)
print(pooled.shape, pooled.isfinite().all().item())
