"""Only rank 0 evaluates, and its metric gathers from all ranks; rank 1 is already at the next step's all_reduce.

Report: https://github.com/ROCm/rccl/issues/429 and https://github.com/dylanyunlon/Neuron_SP/issues/197
"""
import torch
import torch.distributed as dist

from ranks import join

rank = join()
gradient = torch.ones(64, device="cuda")
for step in range(4):
    dist.all_reduce(gradient)  # REDUCE
    print(step, gradient[0].item(), flush=True)  # WAITS
    if rank == 0 and step == 1:
        scores = torch.ones(1 << 22, device="cuda")
        parts = [torch.empty_like(scores) for _ in range(2)]
        dist.all_gather(parts, scores)  # EVALUATE
        print("score", parts[1].mean().item(), flush=True)  # WAITS
