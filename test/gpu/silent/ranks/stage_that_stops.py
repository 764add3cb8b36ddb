"""A pipeline of four stages: the third one drops an empty micro-batch and does not send it on.

Related: https://github.com/pytorch/PiPPy/issues/969
"""
import torch
import torch.distributed as dist

from ranks import join

rank = join()
batch = torch.ones(1 << 16, device="cuda")
for micro_batch in range(4):
    if rank > 0:
        dist.recv(batch, src=rank - 1)  # RECEIVE
    if rank < 3 and not (rank == 2 and micro_batch == 2):
        dist.send(batch, dst=rank + 1)
    torch.cuda.synchronize()  # WAITS
dist.barrier()  # BARRIER
torch.cuda.synchronize()  # WAITS
