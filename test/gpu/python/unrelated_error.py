"""Correct CUDA; the program fails for an unrelated reason: unrelated_error.py key|shape"""
import sys

import torch

x = torch.ones(8, 8, device="cuda")
print((x @ x).sum().item())
if sys.argv[1] == "key":
    {}["missing"]
x @ torch.ones(7, device="cuda")
