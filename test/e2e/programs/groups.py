"""A job of several ranks that call the simulated NCCL, in the groups that training jobs use.
usage: groups.py ddp|pipeline|experts|alone [missing|size|order|slow|busy]

  ddp       three ranks, all in one group
  pipeline  ranks 0 and 1 are one stage, ranks 2 and 3 the next: a group for the tensors of each stage, and for each
            pair a group from stage to stage
  alone     one rank, which calls everything
  experts   four ranks: experts' groups {0, 1} and {2, 3}, which exchange messages, and data groups {0, 2} and {1, 3}
"""

import ctypes
import os
import subprocess
import sys
import time

import cuda

shape, fault = sys.argv[1], (sys.argv[2:] or ["none"])[0]
RANKS = {"ddp": 3, "pipeline": 4, "experts": 4, "alone": 1}[shape]
STEPS = 5
FLOAT, SUM = 7, 0
ODD = RANKS - 1  # the rank that behaves differently
rank = os.environ.get("RANK")

if rank is None:
    # A missing rank waits for the end of its input, which is not an error.
    ranks = [subprocess.Popen([sys.executable, *sys.argv], stdin=subprocess.PIPE,
                              env={**os.environ, "RANK": str(number)}) for number in range(RANKS)]
    sys.exit(max(abs(child.wait()) for child in ranks))

rank = int(rank)
is_odd = rank == ODD
nccl = ctypes.CDLL("libnccl.so.2")
nccl.sim_nccl_join.restype = ctypes.c_void_p
nccl.sim_nccl_join.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
cuda.start()
stream = cuda.stream()


def join(name, members):
    return ctypes.c_void_p(nccl.sim_nccl_join(name.encode(), len(members), members.index(rank)))


def all_reduce(group, count):
    cuda.check(nccl.ncclAllReduce(None, None, ctypes.c_size_t(count), FLOAT, SUM, group, stream))  # ALL REDUCE


def all_gather(group, count):
    cuda.check(nccl.ncclAllGather(None, None, ctypes.c_size_t(count), FLOAT, group, stream))


def send(group, peer, count):
    cuda.check(nccl.ncclSend(None, ctypes.c_size_t(count), FLOAT, peer, group, stream))  # SEND


def receive(group, peer, count):
    cuda.check(nccl.ncclRecv(None, ctypes.c_size_t(count), FLOAT, peer, group, stream))


def stay_away():
    sys.stdin.read()  # AWAY


def differs(step, what):
    return is_odd and step == 3 and fault == what


def slow_down(step):
    """Sleeps ("slow"), or launches other kernels for a while ("busy"). The other ranks wait, and then all continue."""
    if differs(step, "slow"):
        subprocess.run(["sleep", "0.3"])
    if differs(step, "busy"):
        (launch, parameters), own, end = cuda.kernel("other"), cuda.stream(), time.monotonic() + 5
        while time.monotonic() < end:
            cuda.check(launch(own, parameters, None))
            cuda.check(cuda.driver.cuStreamSynchronize(own))
            time.sleep(0.01)  # leaves the processor to other tests


def ddp():
    world = join("world", [0, 1, 2])
    for step in range(STEPS):
        slow_down(step)
        if differs(step, "missing"):
            stay_away()
        size = 64 if differs(step, "size") else 1024
        if differs(step, "order"):
            all_gather(world, 256)
            all_reduce(world, size)
        else:
            all_reduce(world, size)
            all_gather(world, 256)
    cuda.driver.cuStreamSynchronize(stream)


def alone():
    own = join("alone", [0])
    for _ in range(2):
        all_reduce(own, 64)
        nccl.ncclGroupStart()
        all_gather(own, 64)
        send(own, 0, 8)
        receive(own, 0, 8)
        cuda.check(nccl.ncclGroupEnd())
    cuda.driver.cuStreamSynchronize(stream)
    nccl.ncclCommDestroy(own)


def pipeline():
    stage, pair = rank // 2, rank % 2
    tensor = join(f"tp{stage}", [2 * stage, 2 * stage + 1])
    between = join(f"pp{pair}", [pair, pair + 2])
    for step in range(STEPS):
        slow_down(step)
        if differs(step, "missing"):
            stay_away()
        all_reduce(tensor, 512)
        size = 32 if differs(step, "size") else 256
        if stage == 0:
            send(between, 1, size)
            receive(between, 1, size)
        elif differs(step, "order"):
            send(between, 0, size)
            receive(between, 0, size)
        else:
            receive(between, 0, size)
            send(between, 0, size)
        # Unfinished GPU work must not pile up over more than one step.
        cuda.driver.cuStreamSynchronize(stream)


def experts():
    own = rank // 2 * 2
    expert = join(f"ep{own // 2}", [own, own + 1])
    data = join(f"dp{rank % 2}", [rank % 2, rank % 2 + 2])
    other = 1 - rank % 2
    for step in range(STEPS):
        slow_down(step)
        if differs(step, "missing"):
            stay_away()
        nccl.ncclGroupStart()
        send(expert, other, 16 if differs(step, "size") else 64)
        receive(expert, other, 64)
        cuda.check(nccl.ncclGroupEnd())  # EXCHANGE
        if differs(step, "order"):
            all_gather(data, 32)
        all_reduce(data, 128)
        if not differs(step, "order"):
            all_gather(data, 32)
        cuda.driver.cuStreamSynchronize(stream)


{"ddp": ddp, "pipeline": pipeline, "experts": experts, "alone": alone}[shape]()
