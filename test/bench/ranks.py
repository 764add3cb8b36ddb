#!/usr/bin/env python3
"""Measures how long `cudadiag ranks` takes for a large job, and how much memory it uses.

Usage: ranks.py [--build BUILD] [--sessions N] [--json FILE]

One rank is recorded on the simulated driver: 16,400 launches, 400 collectives of its own and 5 of the whole job. The
other sessions are copies, each with a different rank. One rank has not called the job's last collective. The command
is measured with three kinds of evidence:
  nccl     NCCL described the groups
  dumps    NCCL did not, but each rank left a dump of PyTorch's Flight Recorder with 2,000 calls
  kernels  only the kernels are known, and they are the same on all ranks
"""

import argparse
import json
import os
import re
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/e2e"))
sys.path.insert(0, str(ROOT / "test/e2e/programs"))
from harness import Machine  # noqa: E402
import torch_pickle  # noqa: E402

import rows  # noqa: E402

RANK = b"7777"  # the rank of the recorded process: four digits, which the copies replace
PID = 16  # offset in an area's header
REGIONS, COMMUNICATORS = 1024, 14  # offset of the table of regions, and the index of the communicators' region
GROUP_RANK, GROUP_CALLS = 4, 32  # offsets in an entry of the communicators' region
CALLED = 208  # offset in an area's header: how many collectives were called
OWN = 400  # collectives of the rank's own group
DUMPED, DEPTH = 2000, 30  # calls in a dump, and frames per call

PROGRAM = """
import ctypes, sys, time
import cuda
nccl = ctypes.CDLL("libnccl.so.2")
nccl.sim_nccl_join.restype = ctypes.c_void_p
nccl.sim_nccl_join.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
cuda.start()
stream, side = cuda.stream(), cuda.stream()
launches = [cuda.kernel(f"gemm_{number}") for number in range(40)]
world = ctypes.c_void_p(nccl.sim_nccl_join(b"world", int(sys.argv[1]), 0))
own = ctypes.c_void_p(nccl.sim_nccl_join(b"own", 1, 0))
def all_reduce(group, stream):
    cuda.check(nccl.ncclAllReduce(None, None, ctypes.c_size_t(1024), 7, 0, group, stream))
for step in range(400):
    for launch, parameters in launches:
        launch(side, parameters, None)
    all_reduce(own, side)
    cuda.driver.cuStreamSynchronize(side)
for _ in range(5):
    all_reduce(world, stream)
print(time.time_ns(), file=open("called", "w"))
cuda.driver.cuStreamSynchronize(stream)
"""


def record(machine, ranks, *options):
    """Records one rank that waits for the others. Returns its session."""
    program = machine.folder / "rank.py"
    program.write_text(PROGRAM)
    machine.environment |= {"RANK": RANK.decode(), "SIM_NCCL_FILE": str(machine.gpu / "job"),
                            "PYTHONPATH": str(ROOT / "test/e2e/programs")}
    place = machine.folder / f"one{len(options)}"
    machine.run(sys.executable, str(program), str(ranks), options=[*options, "-o", place, "--hang-after", "1"])
    return next(place.glob("*/manifest.json")).parent


def pieces(data):
    """Returns (offset, bytes) of everything that is not zero, in whole pages."""
    found, start = [], None
    for at in range(0, len(data) + 4096, 4096):
        if any(data[at:at + 4096]):
            start = at if start is None else start
        elif start is not None:
            found.append((start, data[start:at]))
            start = None
    return found


def copy(one, folder, ranks):
    area = next((one / "record").glob("*.area")).read_bytes()
    group, _ = struct.unpack_from("<QQ", area, REGIONS + 16 * COMMUNICATORS)
    manifest = (one / "manifest.json").read_text()
    pid, = struct.unpack_from("<I", area, PID)
    named = [found.start() for found in re.finditer(re.escape(RANK), area)]
    written = pieces(area)
    for rank in range(ranks):
        session = folder / f"{one.name}-{rank:04}"
        (session / "record").mkdir(parents=True)
        (session / "manifest.json").write_text(re.sub(rf"\b{pid}\b", str(10000 + rank), manifest))
        changes = [(at, b"%04d" % rank) for at in named]
        changes.append((PID, struct.pack("<I", 10000 + rank)))
        if group and rank != ranks // 2:
            changes.append((group + GROUP_RANK, struct.pack("<i", rank)))
        elif group:
            changes += [(group + GROUP_RANK, struct.pack("<i", rank)), (group + GROUP_CALLS, bytes(8)), (CALLED, struct.pack("<Q", OWN))]
        with (session / "record" / f"{10000 + rank}.area").open("wb") as to:
            for at, data in written + changes:
                to.seek(at)
                to.write(data)
            to.truncate(len(area))


def write_dumps(machine, folder, ranks):
    """Writes the dumps of all ranks. They are equal, except for the rank that has not called the last collective."""
    called = int((machine.folder / "called").read_text())
    stacks = [[torch_pickle.Shared(name=f"call_{depth}", filename=f"/opt/job/layers/part_{depth}.py", line=stack + depth)
               for depth in range(DEPTH)] for stack in range(50)]
    calls = [{
        "frames": stacks[number % 50], "record_id": number, "pg_id": 0, "process_group": ("0", "default_pg"),
        "collective_seq_id": number + 1, "p2p_seq_id": 0, "op_id": number, "profiling_name": "nccl:all_reduce",
        "time_created_ns": called - 1000 * (DUMPED - 1 - number), "input_sizes": [[1024]], "input_dtypes": ["Float"],
        "output_sizes": [[1024]], "output_dtypes": ["Float"], "state": "scheduled" if number == DUMPED - 1 else "completed",
        "time_discovered_started_ns": None, "time_discovered_completed_ns": None, "retired": number < DUMPED - 1,
        "timeout_ms": 600000, "is_p2p": False} for number in range(DUMPED)]
    groups = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(ranks)))}}
    folder.mkdir()
    whole, lacking = (torch_pickle.dumps({"version": "2.10", "pg_config": groups, "comm_lib_version": "2.28.9",
                                          "pg_status": {}, "entries": some}) for some in (calls, calls[:-1]))
    for rank in range(ranks):
        (folder / f"rank_{rank}").write_bytes(lacking if rank == ranks // 2 else whole)
    print(f"a dump has {len(whole) / 1e6:.1f} MB")


def measure(machine, *words):
    """Returns the processor time in seconds, the peak memory in MB, and the first line of the answer."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write, 1)
        words = machine.command("ranks", *words)
        os.execve(words[0], [str(word) for word in words], machine.environment)
    os.close(write)
    with os.fdopen(read) as text:
        answer = text.read()
    _, status, used = os.wait4(child, 0)
    if status != 0:
        sys.exit(answer)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, answer.splitlines()[0]


def report(options, way, found):
    seconds, megabytes = min(each[0] for each in found), max(each[1] for each in found)
    print(f"{options.sessions} sessions, {way}: {seconds:.2f} s of processor time, {megabytes:.0f} MB\n  {found[0][2]}")
    if options.json:
        case = f"ranks of {options.sessions} sessions" + ("" if way == "nccl" else f", {way}")
        rows.merge(options.json, [rows.row(case, "processor time", [each[0] for each in found], "s"),
                                  rows.row(case, "memory", [each[1] for each in found], "MB")])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--sessions", type=int, default=1024)
    parser.add_argument("--json", type=Path, help="write rows with these numbers to it")
    options = parser.parse_args()
    machine = Machine(options.build.resolve())
    try:
        job, other, dumps = (machine.folder / name for name in ("job", "other", "dumps"))
        copy(record(machine, options.sessions, "--nccl"), job, options.sessions)
        copy(record(machine, options.sessions), other, options.sessions)
        write_dumps(machine, dumps, options.sessions)
        for way, words in (("nccl", [job]), ("dumps", ["--flight-recorder", dumps, other]), ("kernels", [other])):
            report(options, way, [measure(machine, *words) for _ in range(3)])
    finally:
        machine.close()


main()
