"""A sort order of all candidates is applied to those that were kept."""
import torch

scores = torch.randn(4, 50, device="cuda")
kept = scores[:, :10]
order = scores.argsort(dim=1, descending=True)
best = kept.gather(1, order)  # TRUE LINE
total = best.sum()
print(total.item())  # BLAMED
