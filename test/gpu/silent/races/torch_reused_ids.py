"""An engine keeps its input ids in one pinned tensor, and changes it for the next step before the copy has run.

Report: https://github.com/vllm-project/vllm/pull/24527
"""
import sys

import torch

corrected = len(sys.argv) > 1
ids = torch.zeros(32768, dtype=torch.int64, pin_memory=True)
on_gpu = torch.zeros(32768, dtype=torch.int64, device="cuda")
copied = torch.cuda.Event()
torch.cuda.synchronize()
torch.cuda._sleep(200_000_000)  # the previous step is still running
for step in range(3):
    if corrected:
        copied.synchronize()
    ids += step + 1  # HOST
    on_gpu.copy_(ids, non_blocking=True)  # FIRST
    copied.record()
torch.cuda.synchronize()
print(on_gpu[0].item())
