"""A pinned tensor is filled through its NumPy view, of which PyTorch's operators know nothing.

Report: https://github.com/lightseekorg/tokenspeed/pull/376
"""
import sys

import torch

corrected = len(sys.argv) > 1
temperatures = torch.ones(16384, dtype=torch.float32).pin_memory()
view = temperatures.numpy()
on_gpu = torch.zeros(16384, device="cuda")
scaled = torch.zeros(16384, device="cuda")
torch.cuda.synchronize()
torch.cuda._sleep(200_000_000)  # the previous step is still running
for step in range(3):
    view[:1000] = 0.5 + step  # HOST
    on_gpu.copy_(temperatures, non_blocking=True)  # COPY
    torch.mul(on_gpu, 2, out=scaled)
    if corrected:
        torch.cuda.synchronize()
torch.cuda.synchronize()
print(scaled[0].item())
