"""A static cache has 512 positions; generation goes on, and the position 512 is written, too."""
import torch

cache = torch.zeros(1, 4, 512, 64, device="cuda")
key = torch.ones(1, 4, 1, 64, device="cuda")
position = torch.tensor([510], device="cuda")
for _ in range(3):
    cache.index_copy_(2, position, key)  # LAUNCH
    position += 1
torch.cuda.synchronize()
