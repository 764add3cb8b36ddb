"""Correct: an allocation that is too large, caught and tried again with less."""
import torch

size = 1 << 44
while True:
    try:
        x = torch.zeros(size, dtype=torch.uint8, device="cuda")
        break
    except torch.OutOfMemoryError:
        print("too large:", size)
        size >>= 12
print("got", size, x.sum().item())
