"""Sets up the ranks of a job. NCCL's kernels have no time limit, so each process ends itself after a number of seconds,
whatever still runs."""
import datetime
import os
import threading

import torch
import torch.distributed as dist


def end_after(seconds):
    bound = threading.Timer(seconds, os._exit, (0,))
    bound.daemon = True
    bound.start()


def join(seconds=9):
    """Returns the rank once all ranks have used NCCL. The process ends itself after `seconds` more."""
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=600))
    dist.all_reduce(torch.zeros(1, device="cuda"))
    torch.cuda.synchronize()
    end_after(seconds)
    return rank
