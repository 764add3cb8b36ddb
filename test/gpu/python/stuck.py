"""A kernel that runs for many seconds, and the line that waits for it."""

import torch

x = torch.ones(4, device="cuda")
x.add_(1)  # a kernel's first launch loads its code, and that waits for the GPU
print(x.sum().item(), flush=True)
torch.cuda._sleep(30_000_000_000)  # TRUE LINE
x.add_(1)
print(x.sum().item())  # BLAMED
