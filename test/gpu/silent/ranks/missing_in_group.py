"""Four ranks in two tensor groups: rank 3 skips its group's all_reduce because its batch is empty, and all others wait.

Related: https://github.com/pytorch/pytorch/issues/130102 (a job of several groups hangs)
"""
import time

import torch
import torch.distributed as dist

from ranks import join

rank = join()
groups = [dist.new_group([0, 1], group_desc="tensor 0"), dist.new_group([2, 3], group_desc="tensor 1")]
tensor_group = groups[rank // 2]
values = torch.ones(1 << 16, device="cuda")
for step in range(4):
    if rank == 3 and step == 2:
        time.sleep(60)  # ABSENT
    dist.all_reduce(values, group=tensor_group)  # TENSOR
    torch.cuda.synchronize()  # WAITS
    dist.all_reduce(values)  # WORLD
    torch.cuda.synchronize()  # WAITS
