"""Three ranks that call the simulated NCCL, and leave dumps of their calls as PyTorch's Flight Recorder does. Ranks 1
and 2 are the group tp1. Before a rank waits for a step, it writes its dump to the path in TORCH_FR_DUMP_TEMP_FILE, with
its own number at the end.
usage: flight_recorder.py none|missing|size|order"""

import ctypes
import os
import pathlib
import subprocess
import sys
import time

import cuda
import torch_pickle

fault = sys.argv[1]
RANKS, STEPS = 3, 5
FLOAT, SUM = 7, 0
rank = os.environ.get("RANK")

if rank is None:
    # A missing rank waits for the end of its input, which is not an error.
    ranks = [subprocess.Popen([sys.executable, *sys.argv], stdin=subprocess.PIPE,
                              env={**os.environ, "RANK": str(number)}) for number in range(RANKS)]
    sys.exit(max(abs(child.wait()) for child in ranks))

rank = int(rank)
nccl = ctypes.CDLL("libnccl.so.2")
nccl.sim_nccl_join.restype = ctypes.c_void_p
nccl.sim_nccl_join.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
cuda.start()
stream = cuda.stream()
calls = []


def join(name, members):
    return ctypes.c_void_p(nccl.sim_nccl_join(name.encode(), len(members), members.index(rank)))


def frames(frame):
    while frame is not None:
        yield {"name": frame.f_code.co_name, "filename": frame.f_code.co_filename, "line": frame.f_lineno}
        frame = frame.f_back


def record(function, group, count):
    """Records a call as PyTorch does, just before it is passed to NCCL."""
    calls.append({
        "frames": list(frames(sys._getframe(1))), "record_id": len(calls), "pg_id": int(group[0]), "process_group": group,
        "collective_seq_id": 1 + sum(call["process_group"] == group for call in calls), "p2p_seq_id": 0,
        "op_id": len(calls), "profiling_name": "nccl:" + function, "time_created_ns": time.time_ns(),
        "input_sizes": [[count]], "input_dtypes": ["Float"], "output_sizes": [[count]], "output_dtypes": ["Float"],
        "state": "scheduled", "time_discovered_started_ns": None, "time_discovered_completed_ns": None, "retired": False,
        "timeout_ms": 600000, "is_p2p": False})


def write_dump():
    configuration = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}}
    if rank != 0:
        configuration["1"] = {"name": "1", "desc": "tp1", "ranks": "[1, 2]"}
    file = pathlib.Path(os.environ["TORCH_FR_DUMP_TEMP_FILE"] + str(rank))
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(torch_pickle.dumps({"version": "2.10", "pg_config": configuration, "comm_lib_version": "2.28.9",
                                         "pg_status": {}, "entries": calls}))


def wait():
    write_dump()
    cuda.driver.cuStreamSynchronize(stream)
    for call in calls:
        call["state"] = "completed"


def all_reduce(communicator, group, count):
    record("all_reduce", group, count)  # ALL REDUCE
    cuda.check(nccl.ncclAllReduce(None, None, ctypes.c_size_t(count), FLOAT, SUM, communicator, stream))


def all_gather(communicator, group, count):
    record("_all_gather_base", group, count)  # ALL GATHER
    cuda.check(nccl.ncclAllGather(None, None, ctypes.c_size_t(count), FLOAT, communicator, stream))


def meet():
    """Waits until all ranks have started, which may take long on a busy machine. A rank that waited for another one with
    a collective would seem to hang."""
    place = os.environ["SIM_NCCL_FILE"] + ".started_"
    pathlib.Path(f"{place}{rank}").touch()
    while not all(os.path.exists(f"{place}{number}") for number in range(RANKS)):
        time.sleep(0.01)


def stay_away():
    write_dump()
    sys.stdin.read()  # AWAY
    sys.exit()


world = join("world", [0, 1, 2])
tensors = join("tensors", [1, 2]) if rank else None
meet()
for step in range(STEPS):
    differs = rank == 2 and step == 3
    if rank:
        if differs and fault == "missing":
            stay_away()
        elif differs and fault == "order":
            all_gather(tensors, ("1", "tp1"), 1024)
        else:
            all_reduce(tensors, ("1", "tp1"), 64 if differs and fault == "size" else 1024)
        wait()
    # Rank 0 stops before ranks 1 and 2 diverge. Which of the two it would wait for is a separate question.
    if step < 3:
        all_reduce(world, ("0", "default_pg"), 256)
        wait()
