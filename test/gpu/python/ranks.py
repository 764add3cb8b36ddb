"""Two ranks train together, one GPU each. "labels": one of them gets a label that is not a class. "raises": one of them
ends with its own exception. "well": nothing is wrong. torchrun starts the ranks or, with "spawned", the program itself
does."""
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.run import main as torchrun
from torch.nn import functional

CLASSES, STEPS = 10, 12


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, CLASSES))

    def forward(self, x, labels):
        scores = self.body(x)
        return functional.cross_entropy(scores, labels)  # TRUE LINE labels


def batch(rank, step, what):
    labels = torch.randint(0, CLASSES, (32,))
    if rank == 1 and step == 7 and what == "labels":
        labels[5] = CLASSES
    if rank == 1 and step == 7 and what == "raises":
        raise ValueError("rank 1 has no more data")
    return torch.randn(32, 64).cuda(), labels.cuda()


def train(rank, what):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(Classifier().cuda(), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    for step in range(STEPS):
        loss = model(*batch(rank, step, what))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    dist.destroy_process_group()
    if rank == 0:
        print("trained")


if __name__ == "__main__":
    what, how = sys.argv[1:]
    if torch.cuda.device_count() < 2:
        sys.exit(77)
    if "RANK" in os.environ:
        train(int(os.environ["RANK"]), what)
    elif how == "spawned":
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20000 + os.getpid() % 10000)}
        torch.multiprocessing.spawn(train, args=(what,), nprocs=2)
    else:
        torchrun(["--standalone", "--nproc-per-node=2", __file__, what, how])
