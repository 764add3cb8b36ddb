"""Batches are copied on a side stream. The main stream waits for each copy, and each copy for the main stream.

Pattern: https://github.com/NVIDIA/apex/issues/304
"""
import torch

buffers = [torch.empty(1 << 16, device="cuda") for _ in range(2)]
source = [torch.full((1 << 16,), float(step)).pin_memory() for step in range(6)]
side, total = torch.cuda.Stream(), torch.zeros(1, device="cuda")
torch.cuda.synchronize()
for step in range(6):
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        buffers[step % 2].copy_(source[step], non_blocking=True)
    torch.cuda.current_stream().wait_stream(side)
    total += buffers[step % 2].sum()
print(total.item())
