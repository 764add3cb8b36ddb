"""Writes the dump of one rank with PyTorch's own Flight Recorder (recorder.cpp). The calls have the names that
ProcessGroupNCCL gives them, and come from code at neutral paths. Rank 2 does not join the second all-reduce of tp1, in
which rank 1 waits. Later, rank 0 waits for both in a call of all ranks, so its dump is written last.
usage: make_dumps.py RANK"""

import functools
import pathlib
import sys

import torch

import recorder

rank = int(sys.argv[1])
code = {}
exec(compile("def all_reduce(call):\n    call()\n",
             "/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", "exec"), code)
exec(compile("def forward(call):\n    all_reduce(call)\n\n\ndef backward(call):\n    all_reduce(call)\n",
             "/home/u/model.py", "exec"), code)

operations = 0


def call(where, group, numbers, title, tensors, is_completed=True):
    global operations
    operations += 1
    all_numbers = [int(group[0]), *numbers, operations]
    inputs, outputs = tensors
    code[where](functools.partial(recorder.record, group, all_numbers, title, inputs, outputs, is_completed))


half, eight, sixteen = torch.ones(4, 256, dtype=torch.bfloat16), torch.ones(8), torch.ones(24)
world, tensor, stages = ("0", "default_pg"), ("1", "tp1"), ("2", "undefined")
recorder.join(*world, [0, 1, 2])
if rank:
    recorder.join(*tensor, [1, 2])
    recorder.join(*stages, [1, 2])
for step in (1, 2):
    call("backward", world, (step, 0), "nccl:_all_gather_base", ([eight], [sixteen]))
if rank:
    call("forward", tensor, (1, 0), "nccl:all_reduce", ([half], [half]))
    # Calls within a batch have no state of their own.
    own, other = rank - 1, 2 - rank
    call("backward", stages, (0, 1), f"nccl:send {own}->{other}", ([eight], [eight]), False)
    call("backward", stages, (0, 1), f"nccl:recv {own}<-{other}", ([eight], [eight]), False)
    call("backward", stages, (0, 1), "nccl:coalesced", ([], []))
if rank == 1:
    call("forward", tensor, (2, 0), "nccl:all_reduce", ([half], [half]), False)
if rank == 0:
    call("backward", world, (3, 0), "nccl:_all_gather_base", ([eight], [sixteen]), False)
pathlib.Path(f"rank_{rank}").write_bytes(recorder.dump())
if rank == 1:
    pathlib.Path("rank_1.json").write_bytes(recorder.dump_json())
