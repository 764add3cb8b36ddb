"""Beam search: the flat index becomes beam and token."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
BEAMS, VOCABULARY = 3, 7
torch.manual_seed(0)
embed = nn.Embedding(VOCABULARY, 4).to(DEVICE)
histories = torch.zeros(1, BEAMS, 1, dtype=torch.long, device=DEVICE)
scores = torch.zeros(1, BEAMS, 1, device=DEVICE)
for _ in range(3):
    step = torch.log_softmax(torch.randn(1, BEAMS, VOCABULARY), dim=-1).to(DEVICE)
    best, flat = (scores + step).view(1, -1).topk(BEAMS, dim=1)
    beams, tokens = flat // VOCABULARY, flat % VOCABULARY
    kept = histories.gather(1, beams.unsqueeze(-1).expand(-1, -1, histories.shape[2]))
    histories = torch.cat([kept, tokens.unsqueeze(-1)], dim=2)
    scores = best.unsqueeze(-1)
    hidden = embed(tokens)
print(histories.shape, hidden.shape)
