"""Two ranks, one GPU each, that do not call the same collectives in their fourth step. "missing": one of them computes
on the host instead. "other": it calls a different collective. "left_out": it skips the collective, so the barrier at
the end is mistaken for it. "size": it passes data of a different size. "well": nothing is wrong. torchrun starts the
ranks; SECONDS is the library's time limit.
usage: torchrun --nproc-per-node 2 collectives.py WHAT SECONDS"""
import datetime
import sys
import time

import torch
import torch.distributed as dist

STEPS, STEP = 5, 3


def average(loss):
    dist.all_reduce(loss)  # AVERAGE
    return loss.mean().item() / dist.get_world_size()


def evaluate(scores):
    parts = [torch.empty_like(scores) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, scores)  # EVALUATE
    return torch.stack(parts).mean().item()


def train(what, seconds):
    dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=seconds))
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    model = torch.nn.Linear(64, 10).cuda()
    for step in range(STEPS):
        loss = model(torch.randn(32, 64).cuda()).square().mean()
        loss.backward()
        odd = rank == 1 and step == STEP
        if odd and what == "left_out":
            continue
        if odd and what == "missing":
            end = time.monotonic() + 60
            while time.monotonic() < end:
                pass
        if odd and what == "other":
            evaluate(loss.detach()[None])
        else:
            average(loss.detach().repeat(1 << 22 if odd and what == "size" else 1))
    dist.barrier()  # BARRIER
    print("done", flush=True)
    dist.destroy_process_group()


train(sys.argv[1], int(sys.argv[2]))
