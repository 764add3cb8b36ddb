"""One pinned tensor of ids is changed at each step, after the event of its last copy.

Pattern: https://github.com/vllm-project/vllm/pull/25279
"""
import torch

ids = torch.zeros(4096, dtype=torch.int64, pin_memory=True)
on_gpu = torch.zeros(4096, dtype=torch.int64, device="cuda")
copied, total = torch.cuda.Event(), torch.zeros(1, dtype=torch.int64, device="cuda")
torch.cuda.synchronize()
for step in range(8):
    copied.synchronize()
    ids += step
    on_gpu.copy_(ids, non_blocking=True)
    copied.record()
    torch.cuda._sleep(10_000_000)
    total += on_gpu.sum()
print(total.item())
