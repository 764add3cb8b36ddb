"""Correct: beside.py profiled runs under torch.profiler; beside.py checkpointed is checkpointed by another process and
restored. Both fail if cudadiag takes from them what only one tool can have."""
import ctypes
import os
import subprocess
import sys

import torch


def profiled():
    from torch.profiler import ProfilerActivity, profile

    x = torch.randn(64, 64, device="cuda")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        for _ in range(10):
            x @ x
        torch.cuda.synchronize()
    events = sum(each.device_type == torch.autograd.DeviceType.CUDA for each in seen.events())
    print("events of the GPU:", events)
    return events >= 10


def checkpoint(pid):
    """Checkpoints and restores another process. Returns false if a call fails."""
    driver = ctypes.CDLL("libcuda.so.1")
    driver.cuInit(0)
    lock = (ctypes.c_uint * 16)(5000)  # gives up after so many milliseconds
    nothing = (ctypes.c_ulonglong * 8)()
    calls = [("Lock", lock), ("Checkpoint", nothing), ("Restore", nothing), ("Unlock", nothing)]
    results = [getattr(driver, "cuCheckpointProcess" + name)(pid, ctypes.byref(given)) for name, given in calls]
    print("checkpoint:", results, flush=True)
    return not any(results)


def checkpointed():
    x = torch.arange(1000, device="cuda") + 1
    torch.cuda.synchronize()
    done = subprocess.run([sys.executable, __file__, "checkpoint", str(os.getpid())]).returncode
    other = torch.cuda.Stream()
    with torch.cuda.stream(other):
        for _ in range(120):
            x = x + 1
    torch.cuda.synchronize()
    return done == 0 and int(x.sum()) == 620_500


todo = {"profiled": profiled, "checkpointed": checkpointed, "checkpoint": lambda: checkpoint(int(sys.argv[2]))}
sys.exit(not todo[sys.argv[1]]())
