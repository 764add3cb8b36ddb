"""Two groups with the same ranks, used by all ranks in one order, and a pipeline that sends and receives at once.

Pattern: https://github.com/NVIDIA/nccl/issues/479 (corrected)
"""
import torch
import torch.distributed as dist

from ranks import join

rank = join(60)
shards = dist.new_group([0, 1], group_desc="shards")
replicas = dist.new_group([0, 1], group_desc="replicas")
mine, theirs = torch.ones(1 << 24, device="cuda"), torch.zeros(1 << 24, device="cuda")
for step in range(5):
    dist.all_reduce(mine, group=shards)
    dist.all_reduce(mine, group=replicas)
    exchange = [dist.P2POp(dist.isend, mine, 1 - rank), dist.P2POp(dist.irecv, theirs, 1 - rank)]
    for request in dist.batch_isend_irecv(exchange):
        request.wait()
print(theirs[0].item(), flush=True)
dist.destroy_process_group()
