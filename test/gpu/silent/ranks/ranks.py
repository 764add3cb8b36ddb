"""The ranks of a job. NCCL's kernels have no time limit, so the process ends after a number of seconds, whatever still
runs."""
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
    """Returns the rank. By then, all ranks have used NCCL once. Each ends after so many more seconds."""
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=600))
    dist.all_reduce(torch.zeros(1, device="cuda"))
    torch.cuda.synchronize()
    end_after(seconds)
    return rank
