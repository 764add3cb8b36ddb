"""Rank 1 prepares its batch on the host for far too long and does not reach the fourth all_reduce.

Report: https://github.com/pytorch/pytorch/issues/118369 (a rank stays away, and the others time out)
"""
import time

import torch
import torch.distributed as dist

from ranks import join

rank = join()
for step in range(6):
    if rank == 1 and step == 3:
        time.sleep(60)  # ABSENT
    gradient = torch.full((1 << 16,), float(step), device="cuda")
    dist.all_reduce(gradient)  # STUCK
    print(step, gradient[0].item(), flush=True)  # WAITS
