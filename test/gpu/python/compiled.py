"""torch.compile: the failing kernel is launched from generated code."""
import sys

import torch


def lookup(table, idx):  # TRUE LINE
    return table[idx] * 2 + 1  # TRUE LINE, EAGER


compiled = torch.compile(lookup)
table = torch.randn(100, 8, device="cuda")
idx = torch.arange(64, device="cuda")
try:
    compiled(table, idx).sum().item()
except Exception as e:
    print("torch.compile does not work here:", e, file=sys.stderr)
    sys.exit(77)
idx[7] = 10**7
rows = compiled(table, idx)  # TRUE LINE
total = rows.sum()
print(total.item())  # BLAMED
