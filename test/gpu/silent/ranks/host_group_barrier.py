"""Rank 0 waits on the host in a gloo barrier, while rank 1 is already in an NCCL all_reduce, and each waits for the
other.

Related: https://github.com/pytorch/pytorch/issues/132003 (NCCL and gloo in one job)
"""
import torch
import torch.distributed as dist

from ranks import join

rank = join()
on_host = dist.new_group([0, 1], backend="gloo", group_desc="on_host")
dist.barrier(group=on_host)
values = torch.ones(1 << 16, device="cuda")
torch.cuda.synchronize()
if rank == 0:
    dist.barrier(group=on_host)  # ABSENT
dist.all_reduce(values)  # STUCK
torch.cuda.synchronize()  # WAITS
if rank == 1:
    dist.barrier(group=on_host)
