"""A rank of a job with groups, one GPU each, as torchrun starts it. In its fourth step, the last rank does something
else. "missing": it stays away; "size": it passes a different size; "order": it calls in a different order; "slow": it
comes late.
usage: groups.py ddp|pipeline|experts|loop none|missing|size|order|slow"""
import datetime
import os
import sys
import time

import torch
import torch.distributed as dist

shape, fault = sys.argv[1:]
STEPS, STEP = 5, 3
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=600))


def group(name, members):
    """Creates a group of these ranks, with a name for NCCL. All ranks call this for all groups."""
    options = dist.ProcessGroupNCCL.Options()
    if hasattr(options.config, "comm_name"):
        options.config.comm_name = name
    return dist.new_group(members, pg_options=options)


def differs(step, what):
    return rank == ranks - 1 and step == STEP and fault == what


def data(count):
    return torch.ones(count, device="cuda")


def late(step):
    if differs(step, "slow"):
        time.sleep(5)
    if differs(step, "missing"):
        time.sleep(120)  # AWAY


def ddp():
    world = group("world", list(range(ranks)))
    for step in range(STEPS):
        late(step)
        size = 64 if differs(step, "size") else 1 << 20
        parts = [data(256) for _ in range(ranks)]
        if differs(step, "order"):
            dist.all_gather(parts, data(256), group=world)
            dist.all_reduce(data(size), group=world)
        else:
            dist.all_reduce(data(size), group=world)  # REDUCE
            dist.all_gather(parts, data(256), group=world)
        torch.cuda.synchronize()


def pipeline():
    tensors = [group(f"tp{stage}", [2 * stage, 2 * stage + 1]) for stage in range(2)]
    pairs = [group(f"pp{pair}", [pair, pair + 2]) for pair in range(2)]
    stage, pair = rank // 2, rank % 2
    other = (rank + 2) % 4
    for step in range(STEPS):
        late(step)
        dist.all_reduce(data(4096), group=tensors[stage])  # TENSOR
        # Larger than NCCL's buffers, so that a send waits for its receiver.
        size = 1 << 10 if differs(step, "size") else 1 << 26
        if stage == 0 or differs(step, "order"):
            dist.send(data(size), other, group=pairs[pair])  # SEND
            dist.recv(data(size), other, group=pairs[pair])
        else:
            dist.recv(data(size), other, group=pairs[pair])  # RECEIVE
            dist.send(data(size), other, group=pairs[pair])
        torch.cuda.synchronize()


def experts():
    expert = [group(f"ep{own}", [2 * own, 2 * own + 1]) for own in range(2)][rank // 2]
    both = [group(f"dp{own}", [own, own + 2]) for own in range(2)][rank % 2]
    for step in range(STEPS):
        late(step)
        size = 2048 if differs(step, "size") else 1 << 20
        dist.all_to_all([data(1 << 20), data(1 << 20)], [data(size), data(size)], group=expert)  # EXCHANGE
        parts = [data(64), data(64)]
        if differs(step, "order"):
            dist.all_gather(parts, data(64), group=both)
        dist.all_reduce(data(1024), group=both)  # DATA
        if not differs(step, "order"):
            dist.all_gather(parts, data(64), group=both)
        torch.cuda.synchronize()


def loop():
    tensor = data(25 << 18)  # the size of a gradient bucket, by default
    turns = []
    for _ in range(4):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(2000):
            dist.all_reduce(tensor)
        torch.cuda.synchronize()
        turns.append(time.perf_counter() - start)
    if rank == 0:
        print(f"seconds {min(turns[1:]):.6f}", flush=True)


{"ddp": ddp, "pipeline": pipeline, "experts": experts, "loop": loop}[shape]()
dist.destroy_process_group()
