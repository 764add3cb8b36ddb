"""The host is one step ahead of the GPU, and changes a pinned mask that the previous step still copies; the corrected
twin alternates between two masks.

Report: https://github.com/vllm-project/vllm/pull/31841
"""
import sys

import torch

corrected = len(sys.argv) > 1
masks = [torch.zeros(8192, dtype=torch.bool, pin_memory=True) for _ in range(2)]
done = [torch.cuda.Event(), torch.cuda.Event()]
on_gpu = torch.zeros(8192, dtype=torch.bool, device="cuda")
torch.cuda.synchronize()
for step in range(6):
    if step > 1:
        done[step % 2].synchronize()  # waits for the step before the previous one
    mask = masks[step % 2 if corrected else 0]
    mask.logical_not_()  # HOST
    torch.cuda._sleep(50_000_000)
    on_gpu.copy_(mask, non_blocking=True)  # FIRST
    done[step % 2].record()
torch.cuda.synchronize()
print(on_gpu.sum().item())
