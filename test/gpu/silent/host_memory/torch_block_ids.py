"""The ids of blocks to clear go through one pinned tensor. The scheduler's next call writes it before the copy is done.

Report: https://github.com/1CatAI/1Cat-vLLM/pull/406
"""
import sys

import torch

corrected = len(sys.argv) > 1
pinned = torch.zeros(8192, dtype=torch.int64).pin_memory()
blocks = torch.ones(8192, 64, device="cuda")
ids = torch.zeros(8192, dtype=torch.int64, device="cuda")
copied = torch.cuda.Event()


def clear(first, count):
    pinned[:count] = torch.arange(first, first + count)  # HOST
    ids[:count].copy_(pinned[:count], non_blocking=True)  # COPY
    copied.record()
    blocks.index_fill_(0, ids[:count], 0)
    if corrected:
        copied.synchronize()


torch.cuda.synchronize()
torch.cuda._sleep(200_000_000)  # the previous step is still running
clear(0, 4096)
clear(4096, 4096)
torch.cuda.synchronize()
print(int(blocks.sum().item()))
