"""Feature hashing: the product overflows on purpose, and the remainder is in range."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
BUCKETS = 97
words = torch.tensor([[12345678901, 5], [99999999999, 42]], device=DEVICE)
hashes = words * 6364136223846793005 + 1442695040888963407
rows = torch.remainder(hashes, BUCKETS)
table = nn.EmbeddingBag(BUCKETS, 8, mode="mean").to(DEVICE)
print(rows.min().item() >= 0, table(rows).shape)
