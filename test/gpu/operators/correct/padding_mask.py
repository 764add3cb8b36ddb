"""An encoder layer with a padding mask."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
embed = nn.Embedding(30, 16, padding_idx=0).to(DEVICE)
layer = nn.TransformerEncoderLayer(16, nhead=2, dim_feedforward=32, batch_first=True).to(DEVICE)
ids = torch.tensor([[4, 9, 2, 0], [7, 0, 0, 0], [1, 2, 3, 4]], device=DEVICE)
padding = ids == 0
states = layer(embed(ids), src_key_padding_mask=padding)
kept = (~padding).unsqueeze(-1)
loss = (states * kept).sum() / kept.sum()
loss.backward()
print(loss.item(), embed.weight.grad.norm().item())
