"""The ranks of a job. NCCL's kernels have no bound of their own: the process ends after so many seconds, whatever stands."""
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
    """The rank. All ranks have used NCCL once when it returns, and end after so many seconds more."""
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=600))
    dist.all_reduce(torch.zeros(1, device="cuda"))
    torch.cuda.synchronize()
    end_after(seconds)
    return rank
