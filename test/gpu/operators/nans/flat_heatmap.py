"""Heat maps are scaled to their range, and one map is constant."""

import os
import tempfile

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


def scale(maps):
    low = maps.amin(dim=(1, 2), keepdim=True)
    high = maps.amax(dim=(1, 2), keepdim=True)
    return (maps - low) / (high - low)


activations = torch.arange(18.0, device=DEVICE).view(2, 3, 3)
activations[1] = torch.relu(-activations[1])
maps = scale(activations)
with tempfile.TemporaryDirectory() as folder:
    torch.save(maps.cpu(), os.path.join(folder, "maps.pt"))
print(maps.shape)
