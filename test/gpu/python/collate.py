"""A collate function that looks up features on the GPU; the split has more samples than there are rows."""
import torch
from torch.utils.data import DataLoader

features = torch.randn(100, 16, device="cuda")


def collate(samples):
    ids = torch.tensor(samples, device="cuda")
    return features[ids]  # TRUE LINE


total = torch.zeros((), device="cuda")
for batch in DataLoader(range(96, 104), batch_size=4, collate_fn=collate):
    total += batch.square().sum()
print(total.item())  # BLAMED
