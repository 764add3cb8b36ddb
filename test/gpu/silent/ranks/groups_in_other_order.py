"""Two groups with the same ranks: each rank first waits for a different one of them.

Report: https://github.com/meta-pytorch/torchrec/pull/4149
"""
import torch
import torch.distributed as dist

from ranks import join

rank = join()
shards = dist.new_group([0, 1], group_desc="shards")
replicas = dist.new_group([0, 1], group_desc="replicas")
values = torch.ones(1 << 20, device="cuda")
for group in (shards, replicas):
    dist.all_reduce(values, group=group)
torch.cuda.synchronize()
if rank == 0:
    dist.all_reduce(values, group=shards)  # SHARDS
else:
    dist.all_reduce(values, group=replicas)  # REPLICAS
torch.cuda.synchronize()  # WAITS
dist.all_reduce(values, group=replicas if rank == 0 else shards)
torch.cuda.synchronize()
