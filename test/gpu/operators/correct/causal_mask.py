"""Causal attention: minus infinity above the diagonal."""

import os

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class CausalAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(1, 2) * x.shape[-1] ** -0.5
        mask = torch.full(scores.shape[1:], float("-inf"), device=x.device).triu(diagonal=1)
        return torch.softmax(scores + mask, dim=-1) @ v


torch.manual_seed(0)
attention = CausalAttention(16).to(DEVICE)
optimizer = torch.optim.AdamW(attention.parameters(), lr=1e-3)
for step in range(3):
    x = torch.randn(2, 6, 16).to(DEVICE)
    loss = F.mse_loss(attention(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
