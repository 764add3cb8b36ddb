"""NaN marks a missing reading, and nanmean leaves it out."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
readings = torch.tensor([[20.5, float("nan"), 21.0], [float("nan"), 19.0, 18.5]], device=DEVICE)
means = readings.nanmean(dim=1, keepdim=True)
filled = torch.where(readings.isnan(), means, readings)
deviation = (filled - means).pow(2).mean().sqrt()
print(means.flatten().tolist(), deviation.item())
