"""Two stages of a pipeline: each receives before it sends.

Report: https://github.com/pytorch/pytorch/issues/172668
"""
import torch
import torch.distributed as dist

from ranks import join

rank = join()
activations, gradients = torch.ones(1 << 20, device="cuda"), torch.zeros(1 << 20, device="cuda")
if rank == 0:
    dist.recv(gradients, src=1)  # STUCK_0
    dist.send(activations, dst=1)
else:
    dist.recv(activations, src=0)  # STUCK_1
    dist.send(gradients, dst=0)
torch.cuda.synchronize()  # WAITS
print("rank", rank, "is done", flush=True)
