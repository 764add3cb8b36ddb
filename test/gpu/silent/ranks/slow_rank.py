"""Rank 1 takes a second longer for each batch; the other rank waits for it in each all_reduce, and no rank stays away.

Related: https://github.com/pytorch/pytorch/issues/118369
"""
import time

import torch
import torch.distributed as dist

from ranks import join

rank = join(60)
for step in range(6):
    if rank == 1:
        time.sleep(1)
    gradient = torch.full((1 << 16,), float(step), device="cuda")
    dist.all_reduce(gradient)
    print(step, gradient[0].item(), flush=True)
dist.destroy_process_group()
