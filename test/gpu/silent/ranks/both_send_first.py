"""Two ranks exchange tensors, and both send first. NCCL cannot buffer 256 MiB without a receiver.

Report: https://github.com/NVIDIA/nccl/issues/479
"""
import torch
import torch.distributed as dist

from ranks import join

rank = join()
mine, theirs = torch.ones(1 << 26, device="cuda"), torch.zeros(1 << 26, device="cuda")
torch.cuda.synchronize()
dist.send(mine, dst=1 - rank)  # STUCK
dist.recv(theirs, src=1 - rank)
torch.cuda.synchronize()  # WAITS
print("rank", rank, "is done", flush=True)
