"""Indices out of range: out_of_range.py index_select|gather|getitem"""
import sys

import torch

x = torch.zeros(1000, 8, device="cuda")
far = torch.full((64,), 10**7, device="cuda")
torch.cuda.synchronize()
if sys.argv[1] == "index_select":
    y = torch.index_select(x, 0, far)  # TRUE LINE index_select
elif sys.argv[1] == "gather":
    y = torch.gather(x, 0, far.view(64, 1))  # TRUE LINE gather
else:
    y = x[far]  # TRUE LINE getitem
z = y + 1
print(z.sum().item())  # BLAMED
