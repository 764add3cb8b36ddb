"""The prompt has more image tokens than the vision tower produced features."""
import torch

IMAGE = 7


def merge(ids, words, features):
    embedded = words(ids)
    mask = (ids == IMAGE).unsqueeze(-1).expand_as(embedded)
    return embedded.masked_scatter(mask, features)  # TRUE LINE


words = torch.nn.Embedding(100, 32, device="cuda")
ids = torch.randint(10, 100, (1, 48), device="cuda")
ids[0, 4:14] = IMAGE
merged = merge(ids, words, torch.randn(9, 32, device="cuda"))
print(merged.square().mean().item())  # BLAMED
