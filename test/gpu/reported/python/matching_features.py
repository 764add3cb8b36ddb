"""The features of two images replace as many placeholders in a prompt. The program succeeds."""
import torch

hidden = torch.zeros(1, 2048, 256, device="cuda")
placeholders = torch.zeros(1, 2048, 1, dtype=torch.bool, device="cuda")
for start in 100, 900:
    placeholders[:, start:start + 576] = True
features = torch.ones(2, 576, 256, device="cuda")
hidden.masked_scatter_(placeholders, features)
assert hidden.sum().item() == features.numel()
