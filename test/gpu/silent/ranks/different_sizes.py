"""The last batch of rank 1 is larger, and a list of its losses is reduced without a common length.

Report: https://github.com/pytorch/pytorch/issues/140563 (one rank reduces a different number of elements)
"""
import torch
import torch.distributed as dist

from ranks import join

rank = join()
for step in range(3):
    losses = torch.ones(1 << 24 if rank == 1 and step == 2 else 8, device="cuda")
    dist.all_reduce(losses)  # STUCK
    print(step, losses[0].item(), flush=True)  # WAITS
torch.cuda.synchronize()
